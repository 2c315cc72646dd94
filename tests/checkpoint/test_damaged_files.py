"""Whatever happened to a file, opening it works or raises a CheckpointError; nothing else."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from tests.checkpoint.tiny import tiny_weights, write_tiny_gguf
from thisthat.checkpoint.delta import Delta
from thisthat.checkpoint.gguf_weights import GgufModel
from thisthat.checkpoint.packing import make_delta
from thisthat.checkpoint.safetensors_file import SafetensorsFile
from thisthat.errors import CheckpointError

ONE_FILE = settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
PLACES = st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=8)), min_size=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged")
    weights = tiny_weights()
    write_tiny_gguf(folder / "model.gguf", weights)
    save_file({name: weights[name] for name in list(weights)[:4]}, folder / "model.safetensors")
    base = {"w": np.zeros((6, 40), np.float32), "n": np.zeros(40, np.float32)}
    trained = {name: tensor + np.arange(40, dtype=np.float32) for name, tensor in base.items()}
    make_delta(base, trained, folder / "delta", base_sha256="00" * 32)
    make_delta(base, trained, folder / "product", base_sha256="00" * 32, rank=2)
    return folder


def _changed(path: Path, places: list[tuple[float, bytes]], header: int) -> Path:
    """A copy with bytes overwritten, each place a share of the first ``header`` bytes."""
    content = bytearray(path.read_bytes())
    for share, value in places:
        start = int(share * (min(header, len(content)) - 1))
        content[start : start + len(value)] = value
    changed = path.with_name("changed-" + path.name)
    changed.write_bytes(bytes(content))
    return changed


def _read_gguf(path: Path) -> None:
    model = GgufModel(path)
    model.tokenizer()
    model.weights()


def _read_safetensors(path: Path) -> None:
    file = SafetensorsFile(path)
    for name in file.shapes():
        file.float32(name)


def _read_delta(path: Path) -> None:
    delta = Delta(path)
    for name in delta.entries:
        delta.tensor(name)


READERS: dict[str, tuple[Callable[[Path], None], int]] = {
    "model.gguf": (_read_gguf, 6000),
    "model.safetensors": (_read_safetensors, 500),
    "delta": (_read_delta, 1 << 20),
    "product": (_read_delta, 1 << 20),
}


@pytest.mark.parametrize("name", READERS)
@ONE_FILE
@given(places=PLACES)
def test_changed_bytes(folder: Path, name: str, places: list[tuple[float, bytes]]) -> None:
    read, header = READERS[name]
    path = _changed(folder / name, places, header)
    with suppress(CheckpointError):
        read(path)


@pytest.mark.parametrize("name", READERS)
@ONE_FILE
@given(share=st.floats(0, 0.999))
def test_cut_short(folder: Path, name: str, share: float) -> None:
    content = (folder / name).read_bytes()
    path = folder / f"cut-{name}"
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(CheckpointError, match=name):
        READERS[name][0](path)
