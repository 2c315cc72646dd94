"""Linear probes: features of the right places, and accuracy where there is something to read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.lab.train import tiny
from thisthat.checkpoint import open_checkpoint
from thisthat.questions import Boolean
from thisthat_lab.bench.probes import READINGS, Reader, probe_accuracy

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    folder = tiny.write_checkpoint(tmp_path_factory.mktemp("model"))
    return Reader(open_checkpoint(folder), layers=2)


def test_every_text_has_a_feature_of_every_layer_and_reading(reader: Reader) -> None:
    done: list[int] = []
    texts = ["red", "a much longer text", {"colour": "blue"}]
    features = reader.features(texts, Boolean("Red?"), done.append)
    assert sum(done) == 3
    assert set(features) == {(layer, reading) for layer in (1, 2) for reading in READINGS}
    assert all(vectors.shape == (3, 32) for vectors in features.values())


def test_features_do_not_depend_on_neighbours(reader: Reader) -> None:
    together = reader.features(["red", "something longer"], Boolean("Red?"), lambda _: None)
    alone = reader.features(["red"], Boolean("Red?"), lambda _: None)
    for key, vectors in alone.items():
        np.testing.assert_allclose(vectors[0], together[key][0], atol=1e-5)


def test_what_comes_after_the_state_does_not_change_it(reader: Reader) -> None:
    one = reader.features(["red"], Boolean("Red?"), lambda _: None)
    other = reader.features(["red"], Boolean("Is it a colour at all?"), lambda _: None)
    for layer in (1, 2):
        for reading in ("mean", "last"):
            np.testing.assert_allclose(one[layer, reading], other[layer, reading], atol=1e-5)
        assert not np.allclose(one[layer, "slot"], other[layer, "slot"], atol=1e-3)


def test_a_probe_finds_what_is_there_and_nothing_else() -> None:
    random = np.random.default_rng(0)
    features = random.normal(size=(300, 8)).astype(np.float32)
    labels = ["yes" if row[2] > 0 else "no" for row in features]
    assert probe_accuracy(features, labels, 200, "there") > 0.9
    assert probe_accuracy(features[:, 3:], labels, 200, "not there") < 0.65


def test_the_panel_names_what_the_data_folder_lacks(tmp_path: Path) -> None:
    from thisthat.errors import InvalidInputError
    from thisthat_lab.bench.measurements.trust.knowledge import panel

    with pytest.raises(InvalidInputError, match="holds branches/"):
        panel(tmp_path, 300)
    (tmp_path / "branches").mkdir()
    with pytest.raises(InvalidInputError, match="holds decisions_dev"):
        panel(tmp_path, 300)
