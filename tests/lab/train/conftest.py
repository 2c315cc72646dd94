from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.lab.train import tiny


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_checkpoint(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture
def workplace(tmp_path: Path, model_folder: Path) -> Path:
    """A folder with a model, a training file and a held-out file."""
    (tmp_path / "model").symlink_to(model_folder)
    tiny.write_colours(tmp_path / "colours.jsonl", 300)
    tiny.write_colours(tmp_path / "held_out.jsonl", 60, seed=1)
    return tmp_path
