"""Every competitor on a tiny random model; what is not installed is skipped with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.checkpoint.tiny import tiny_weights, write_tiny_gguf
from tests.lab.train.tiny import write_checkpoint
from thisthat.checkpoint import Checkpoint, open_checkpoint
from thisthat.checkpoint.card import CARD_FILE, write_card
from thisthat.decide.opening import open_decider
from thisthat.questions import Boolean, Choice, Question, Score
from thisthat_lab.bench.systems import competitors
from thisthat_lab.bench.systems.competitors import COMPETITORS, Material, open_competitors
from thisthat_lab.bench.systems.competitors.running import CannotRunError, try_out

QUESTIONS: dict[str, Question] = {
    "late": Boolean("Late?"),
    "team": Choice({"post": "parcels", "till": "money"}, "Who?"),
    "harm": Score(["none", "some", "much"], "How bad?"),
}
STATES = ("The box is late.", "The bill is wrong.", "All is well.")


@pytest.fixture(autouse=True)
def _own_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("THISTHAT_HOME", str(tmp_path / "store"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("tiny") / "model", eos_token_id=0)


@pytest.fixture
def material(folder: Path) -> Iterator[Material]:
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    yield Material(open_checkpoint(folder), 1)
    torch.set_num_threads(threads)


@pytest.mark.parametrize("open_state", [False, True])
def test_one_pass_per_question_gives_our_answers(
    open_state: bool, material: Material, tmp_path: Path
) -> None:
    from thisthat_lab.bench.systems.competitors.one_pass import open_competitor

    folder = write_checkpoint(tmp_path / "model", eos_token_id=0)
    card = material.checkpoint.card
    card = replace(card, prompt=replace(card.prompt, open_state=open_state))
    write_card(card, folder / CARD_FILE)
    other = open_competitor(Material(open_checkpoint(folder), 1))
    with open_decider(folder, engine="onnx", form="float32") as decider:
        for state in STATES:
            for warm, layout in ((False, "state-first"), (True, "schema-first")):
                decision = decider.decide(state, QUESTIONS, layout=layout)  # type: ignore[arg-type]
                ours = {name: answer.best_name for name, answer in decision.answers.items()}
                assert other.answer(state, QUESTIONS, warm=warm) == ours


def test_one_pass_per_option_takes_the_likeliest_text(material: Material) -> None:
    import torch

    from thisthat_lab.bench.systems.competitors.option_passes import open_competitor

    other = open_competitor(material)
    encode, model = material.checkpoint.encode, material.base
    question = QUESTIONS["team"]
    for state in STATES:
        scores = {}
        for name, text in (("post", "post: parcels"), ("till", "till: money")):
            prompt = encode(f"Context:\n{state}\n\nQuestion: Who?\nAnswer:")
            whole = torch.tensor([prompt + encode(f" {text}")])
            with torch.inference_mode():
                told = torch.log_softmax(model(whole).logits[0].double(), -1)
            scores[name] = sum(
                float(told[place - 1, whole[0, place]])
                for place in range(len(prompt), whole.shape[1])
            )
        chosen = other.answer(state, {"team": question}, warm=False)["team"]
        assert scores[chosen] == max(scores.values())


def test_outlines_writes_one_of_the_options(material: Material) -> None:
    pytest.importorskip("outlines", reason='pip install ".[compare]"')
    from thisthat_lab.bench.systems.competitors.outlines_json import open_competitor

    other = open_competitor(material)
    for state in STATES[:2]:
        chosen = other.answer(state, QUESTIONS, warm=True)
        assert list(chosen) == list(QUESTIONS)
        for name, question in QUESTIONS.items():
            assert chosen[name] in [option.name for option in question.declared]


def test_llama_writes_one_of_the_options(tmp_path: Path) -> None:
    pytest.importorskip("llama_cpp", reason='pip install ".[compare]"')
    from thisthat_lab.bench.systems.competitors.llama_grammar import open_competitor

    write_tiny_gguf(tmp_path / "tiny.gguf", tiny_weights())
    asked = {"late": QUESTIONS["late"], "team": QUESTIONS["team"]}
    try:
        other = open_competitor(Material(open_checkpoint(tmp_path / "tiny.gguf"), 1))
    except CannotRunError as error:
        pytest.skip(str(error))
    cold = other.answer("Late.", asked, warm=False)
    assert cold["late"] in ("no", "yes")
    assert cold["team"] in ("post", "till")
    assert other.answer("Late.", asked, warm=False) == cold
    first = other.answer("Late.", asked, warm=True)
    assert other.answer("Late.", asked, warm=True) == first


def test_what_cannot_run_is_absent_with_its_reason(
    material: Material, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib

    real = importlib.import_module

    def without(name: str) -> object:
        module = real(name)
        if name.endswith("outlines_json"):
            monkeypatch.setattr(module, "open_competitor", _crashing)
        return module

    monkeypatch.setattr(competitors.importlib, "import_module", without)
    opened, absent = open_competitors(material)
    reasons = {missing.listed.letter: missing.reason for missing in absent}
    assert "illegal instruction" in reasons["c2"]
    # A folder of safetensors is nothing that llama.cpp reads; or it is not installed at all.
    assert "GGUF" in reasons["c1"] or ".[compare]" in reasons["c1"]
    assert {listed.letter for listed in opened} == {"b", "d"}
    assert len(opened) + len(absent) == len(COMPETITORS)


def _crashing(material: Material) -> object:
    try_out("outlines", "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    raise AssertionError("it did not crash")


def test_a_trial_says_what_went_wrong() -> None:
    try_out("fine", "import sys; assert sys.argv[1] == 'x'", "x")
    with pytest.raises(CannotRunError, match=r"it fails on this machine \(ValueError: broken\)"):
        try_out("it", "raise ValueError('broken')")


def test_the_base_has_no_delta_and_no_loop(folder: Path) -> None:
    checkpoint: Checkpoint = open_checkpoint(folder)
    base = checkpoint.base_alone()
    assert (base.lam, base.card.delta, base.card.loop) == (0.0, None, None)
    assert base.gguf_file is None
