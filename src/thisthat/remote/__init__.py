"""Asking a server instead of opening a checkpoint."""
