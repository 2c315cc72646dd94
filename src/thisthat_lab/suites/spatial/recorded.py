"""The windows of the recorded cohort, as hashes, so that training never shows one of them.

The cohort is 68 questions about 17 windows and is for evaluation alone. Only hashes of what the
windows show are kept here, which is enough to leave them out on every surface.
"""

from __future__ import annotations

import hashlib

from thisthat_lab.worlds.window import Window

RECORDED_WINDOWS = frozenset(
    (
        "0468cd49665e2159",
        "09fdd46ba7e66234",
        "2531a0718d32cf0b",
        "25dba13d063a0d7e",
        "270bc5ba83ce1bd8",
        "35a37508f13deb13",
        "38c86e35d4dceada",
        "572022706cc32e12",
        "60fd098625c5e173",
        "7070169111679ec0",
        "731b7da898bc17d2",
        "8115cb081c2c3d4f",
        "83460314c0e5712c",
        "90f5ebf24fa79094",
        "dfbf0709ff678b9a",
        "e2c36888c0f01e88",
        "e953d54a3cfc420c",
    )
)


def is_recorded(window: Window) -> bool:
    """True for a window of the recorded cohort."""
    return hashlib.sha256(window.key.encode()).hexdigest()[:16] in RECORDED_WINDOWS
