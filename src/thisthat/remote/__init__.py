"""Asking a server instead of opening a checkpoint."""

from __future__ import annotations

KEY_VARIABLE = "THISTHAT_ENDPOINT_KEY"
"""The environment variable that holds a server's key."""
