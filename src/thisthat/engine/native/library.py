"""Compiled kernels: their variant, and how they want weights to be packed."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from thisthat.checkpoint.trust import open_trusted, read_trusted
from thisthat.errors import CheckpointError
from thisthat.files import write_atomically

Variant: TypeAlias = Literal["amx", "vnni", "avx512", "avxvnni", "avx2", "neon", "plain"]
Order: TypeAlias = Literal["by fours", "by ones"]
"""How weights are packed: four inputs of an output together, for dot products of bytes, or one."""


@dataclass(frozen=True, slots=True)
class Library:
    """Compiled kernels and what they are made of."""

    path: Path
    variant: Variant

    @property
    def record(self) -> Path:
        """The file that says what the library's hash is and whether its numbers were right."""
        return self.path.with_suffix(".json")

    def noted(self) -> dict[str, Any]:
        """What the record says; nothing where there is none or it is damaged.

        Raises UntrustedFileError.
        """
        try:
            said = json.loads(read_trusted(self.record))
        except (OSError, ValueError):
            return {}
        return said if isinstance(said, dict) else {}

    def note(self, **facts: Any) -> None:
        """Write the record. Raises OSError."""
        write_atomically(self.record, json.dumps(facts), mode=0o644)

    def is_whole(self) -> bool:
        """Whether the file is there with the hash on record. Raises UntrustedFileError."""
        try:
            return hashlib.sha256(read_trusted(self.path)).hexdigest() == self.noted().get("sha256")
        except OSError:
            return False

    def load(self) -> ctypes.CDLL:
        """The kernels, from the very file whose owner and hash were checked.

        Raises CheckpointError where they are not right.
        """
        try:
            return _loaded(self.path, self.noted().get("sha256"))
        except OSError as error:
            raise CheckpointError(f"{self.path}: {error}") from error

    @property
    def multiplies_bytes(self) -> bool:
        """Whether activations become bytes; else they stay finer than any rounding shows."""
        return self.variant != "plain"

    @property
    def order(self) -> Order:
        """How these kernels want weights to be packed."""
        return "by ones" if self.variant == "plain" else "by fours"

    @property
    def doubling_costs(self) -> bool:
        """Whether a second term of activations makes a pass much longer."""
        return self.variant not in ("amx", "plain")

    @property
    def levels(self) -> int:
        """Steps of a term of an activation either way, as in rounding.h."""
        return 63 if self.variant in ("avx512", "avx2") else 127


@cache
def _loaded(path: Path, sha256: str | None) -> ctypes.CDLL:
    with open_trusted(path) as file:
        if hashlib.sha256(file.read()).hexdigest() != sha256:
            raise CheckpointError(f"{path}: is damaged; delete it")
        # Loaders know libraries by their names: the handle stays open, so that no other gets it.
        same = Path(f"/proc/self/fd/{os.dup(file.fileno())}")
        return ctypes.CDLL(str(same if same.exists() else path))
