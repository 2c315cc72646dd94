"""The form of a checkpoint that a runtime opens: built once, kept in the store, memory-mapped.

A form is a folder with a graph, its weights and ``form.json``, which is written last and holds the
hashes of the others: a form without it, or with other hashes, is built again; one that another user
can have planted is refused.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO

from thisthat.checkpoint.locks import locked
from thisthat.checkpoint.store import home, sha256_of
from thisthat.checkpoint.trust import check_trusted, read_trusted
from thisthat.errors import CheckpointError
from thisthat.files import remove_leftovers, write_atomically

GRAPH_FILE = "graph.onnx"
WEIGHTS_FILE = "weights.bin"
_FORM_FILE = "form.json"

MOST_FORMS = 6
"""Forms kept in the store; the least recently opened one goes when another is built."""

_logger = logging.getLogger("thisthat.store")

Build = Callable[[BinaryIO, str], bytes]
"""Writes weights to the file, which the graph must know by the given name; returns the graph."""


_builds: ContextVar[bool] = ContextVar("builds", default=True)


class NotBuiltError(Exception):
    """A form is not kept, and nothing may be built. No reason to use another engine instead."""


@contextmanager
def nothing_built() -> Iterator[None]:
    """In here ``open_form`` raises NotBuiltError for a form that is not kept."""
    before = _builds.set(False)
    try:
        yield
    finally:
        _builds.reset(before)


def forms_folder() -> Path:
    """Where built forms are kept."""
    return home() / "forms"


def open_form(
    key: Mapping[str, Any], build: Build, folder: Path | None = None, index: str = GRAPH_FILE
) -> Path:
    """The graph file of the form with this ``key``, built now unless a whole one is kept.

    ``folder`` holds the forms, by default in the store; ``index`` names the file that says what
    the weights are, if it is not a graph. Raises CheckpointError when the form cannot be written or
    trusted, NotBuiltError within ``nothing_built``, and whatever ``build`` raises.
    """
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
    folder = folder or forms_folder()
    place = folder / digest[:32]
    if not _is_whole(place, index):
        if not _builds.get():
            raise NotBuiltError(str(place))
        try:
            with locked(folder / f"{digest[:32]}.lock"):
                if not _is_whole(place, index):
                    _write(place, build, index)
                    _drop_old(folder, place)
        except TimeoutError as error:
            raise CheckpointError(str(error)) from error
        except OSError as error:
            raise CheckpointError(
                f"the runtime form cannot be written to {place}: {error}; "
                "free some space or set THISTHAT_HOME to another folder"
            ) from error
    with suppress(OSError):  # A store that cannot be written can still be read.
        os.utime(place / _FORM_FILE)
    return place / index


def _is_whole(place: Path, index: str) -> bool:
    """Whether the form is there and its hashes are right.

    Raises UntrustedFileError for one that another user can have planted.
    """
    names = index, WEIGHTS_FILE
    try:
        check_trusted(place)
        hashes = json.loads(read_trusted(place / _FORM_FILE))
        for name in names:
            check_trusted(place / name)
        right = bool(hashes == {name: sha256_of(place / name) for name in names})
    except (OSError, ValueError):
        return False
    if not right:
        _logger.warning("%s is damaged and is built again", place)
    return right


def _write(place: Path, build: Build, index: str) -> None:
    place.mkdir(parents=True, exist_ok=True)
    place.chmod(0o755)
    for name in (index, WEIGHTS_FILE, _FORM_FILE):
        remove_leftovers(place / name)
    (place / _FORM_FILE).unlink(missing_ok=True)
    graphs: list[bytes] = []
    write_atomically(
        place / WEIGHTS_FILE, lambda file: graphs.append(build(file, WEIGHTS_FILE)), mode=0o644
    )
    write_atomically(place / index, graphs[0], mode=0o644)
    hashes = {name: sha256_of(place / name) for name in (index, WEIGHTS_FILE)}
    write_atomically(place / _FORM_FILE, json.dumps(hashes), mode=0o644)


def _drop_old(folder: Path, newest: Path) -> None:
    """Delete forms beyond those that are kept, and what killed builds left."""
    forms = [path.parent for path in folder.glob(f"*/{_FORM_FILE}") if path.parent != newest]
    forms.sort(key=lambda form: (form / _FORM_FILE).stat().st_mtime, reverse=True)
    unfinished = [path.parent for path in folder.glob(f"*/.{WEIGHTS_FILE}.*")]
    for form in {*forms[MOST_FORMS - 1 :], *unfinished} - {newest}:
        # Whoever builds it holds its lock.
        with suppress(OSError), locked(folder / f"{form.name}.lock", patience=0):
            (form / _FORM_FILE).unlink(missing_ok=True)
            shutil.rmtree(form, ignore_errors=True)
            (folder / f"{form.name}.lock").unlink(missing_ok=True)
