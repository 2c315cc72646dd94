"""What reads a command's output may go before the command ends, as ``| head`` does."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

BROKEN_PIPE = 141
"""The exit code then, as of other programs: 128 + 13, the number of SIGPIPE."""


@contextmanager
def ended_by_broken_pipes() -> Iterator[None]:
    """End with this code, and without a word, if the output cannot be written any more."""
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:  # It was closed before the command began.
                sys.stdout.flush()
    except BrokenPipeError:
        _end()
    except SystemExit as end:
        # click and rich end with 1 then.
        if isinstance(end.__context__, BrokenPipeError):
            _end()
        raise


def _end() -> None:
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except BrokenPipeError:
            # Python would try again at its end, and complain.
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(BROKEN_PIPE)
