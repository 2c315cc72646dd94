"""An index that does not fit its weights is an error, not the end of the process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.native.models import kept_library
from thisthat.engine.native import proof
from thisthat.engine.native.pack import tensor_bytes, write_packed
from thisthat.engine.native.runtime import NativeRuntime
from thisthat.errors import CheckpointError


def test_every_tensor_must_lie_within_the_weights(tmp_path: Path) -> None:
    library, labels = kept_library("plain"), len(proof.LABELS)
    data, index = tmp_path / "weights.bin", tmp_path / "index.json"
    with data.open("wb") as file:
        packed = write_packed(proof._weights(), proof.SHAPE, proof.LABELS, library.order, file)
    right: dict[str, Any] = json.loads(packed)
    sizes = tensor_bytes(proof.SHAPE, proof.INNER, labels)
    assert set(sizes) == set(right)
    starts = sorted(right.items(), key=lambda item: item[1])
    ends = [start for _, start in starts[1:]] + [data.stat().st_size]
    for (name, start), end in zip(starts, ends, strict=True):
        assert end - 4096 < start + sizes[name] <= end, name

    def opened(content: dict[str, Any]) -> NativeRuntime:
        index.write_text(json.dumps(content))
        shape, inner = proof.SHAPE, proof.INNER
        return NativeRuntime(library, index, data, shape, inner, labels, terms=2, threads=1)

    opened(right).close()
    for wrong in (-1, 1 << 60, ends[-1] - sizes["1.down"] + 1, "0", None):
        with pytest.raises(CheckpointError, match=r"no whole 1\.down"):
            opened({**right, "1.down": wrong})
