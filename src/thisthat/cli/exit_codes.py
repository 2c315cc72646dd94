"""What a command's exit code means; docs/settings.md has the same tables, and a test compares."""

from __future__ import annotations

EXIT_CODES = {
    0: "done; what was to be judged is fine",
    1: "judged, and something is not fine; the commands that do so are listed below",
    2: "refused: bad input, a missing extra, a checkpoint or server that cannot be used; "
    "standard error names the field and the limit, in one line or one for each question at fault",
    3: "`thisthat log drift` alone: too few decisions or labels to tell",
    141: "what reads the output has gone, as `| head` does; it says nothing about the work "
    "(128 + 13, as for other programs)",
}

FOUND_BY = {
    "check": "a check failed on too many states",
    "doctor": "something here needs fixing",
    "eval": "the labels show that a question is answered worse than by `--against`",
    "log drift": "the answers have drifted from those the policy was fitted on",
    "log verify": "the log was changed or damaged",
    "loop evaluate": "the outcomes show that the candidate is worse",
    "teach": "no head was kept, so nothing was written (`--deep` always writes)",
    "test": "an expectation does not hold",
}
"""The commands that end with 1, and what that says."""
