"""Drills: many short questions about one record or several, for training only, never measured.

A branch family asks one question about a long state. A drill asks what such questions are made
of (is this fact so, what is this value, how many of these hold, which comes first), several
times about one state, so that a row of training holds many answers.
May import ``base`` and ``records``.
"""

from __future__ import annotations

from thisthat_lab.suites.drills.streams import DrillSettings, training_items

__all__ = ["DrillSettings", "training_items"]
