"""The windows of the recorded cohort, as hashes, so that training never shows one of them.

The cohort is 68 questions about 17 windows and is for evaluation alone. Only hashes of what the
windows show are kept here, which is enough to leave them out on every surface.
"""

from __future__ import annotations

import hashlib

from thisthat_lab.tables import Tables
from thisthat_lab.worlds.window import Window

RECORDED_WINDOWS = frozenset(Tables(__file__).words("windows"))


def is_recorded(window: Window) -> bool:
    """True for a window of the recorded cohort."""
    return hashlib.sha256(window.key.encode()).hexdigest()[:16] in RECORDED_WINDOWS
