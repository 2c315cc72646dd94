"""Published checkpoints, as tiny random stand-ins in their own layout, through every verb.

On a machine with a CUDA device everything here runs on that.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

import thisthat
from tests.lab.bench.conftest import make_items
from tests.lab.train import tiny
from tests.published import DECIDER, FLOCK, write_published
from tests.serve.support import post
from thisthat import Boolean, Choice, Score
from thisthat.checkpoint import Checkpoint, open_checkpoint
from thisthat.checkpoint.card import CARD_FILE, PathBase, write_card
from thisthat.checkpoint.ship import ship_delta
from thisthat.decide.decider import Decider
from thisthat.engine.torch.load_model import choose_dtype, stored_in_half
from thisthat.items.files import write_items
from thisthat.items.item import Item
from thisthat.serve.service import Service
from thisthat.serve.settings import Settings
from thisthat_lab.bench.measure import Context, Setting, run_measurement
from thisthat_lab.bench.measurements.questions import cohort, decisions
from thisthat_lab.bench.systems.opening import EngineSystem
from thisthat_lab.bench.systems.replies import Reply, from_probabilities
from thisthat_lab.train.config import parse_run
from thisthat_lab.train.loop import train
from thisthat_lab.train.teach import teach

STATE = "The parcel never came."
QUESTIONS = {
    "lost": Boolean("Is it lost?", true="it is gone", false="it will come"),
    "queue": Choice({"billing": "money", "shipping": None}, "Which queue?"),
    "anger": Score(["calm", "furious"], "How angry?"),
}
LAYOUTS: dict[str, dict[str, Any]] = {
    "flat": {"wrapped": False},
    "wrapped": {"wrapped": True},
    "sharded": {"wrapped": True, "shards": 3},
}
WITH_A_CARD = ", with a card"
EVERY_LAYOUT = [name + card for name in LAYOUTS for card in ("", WITH_A_CARD)]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def stand_in(parent: Path, layout: str, name: str = FLOCK, **how: Any) -> Path:
    """A stand-in in one of ``EVERY_LAYOUT``, below ``parent``."""
    made = write_published(parent / name, **LAYOUTS[layout.removesuffix(WITH_A_CARD)], **how)
    if layout.endswith(WITH_A_CARD):
        # Under any other name, what the card says counts.
        card = replace(open_checkpoint(made).card, base=PathBase("."))
        write_card(card, made / CARD_FILE)
        made = made.rename(parent / "renamed")
    return made


def moved(before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]) -> dict[str, bool]:
    """Of every tensor, whether it is another."""
    assert before.keys() == after.keys()
    return {name: bool((before[name] != tensor).any()) for name, tensor in after.items()}


def trained_on_colours(folder: Path, initial: Path) -> Checkpoint:
    """What two steps make of a checkpoint, in the folder ``run``."""
    tiny.write_colours(folder / "colours.jsonl", 60)
    changes: dict[str, Any] = {
        "device": DEVICE,
        "model": {"initial": str(initial)},
        "schedule": {"steps": 2, "warm_up_steps": 1},
    }
    train(parse_run(tiny.run_table(folder, **changes), folder, "run.toml"), lambda _: None)
    return open_checkpoint(folder / "run" / "checkpoint")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Products this small only wait for a second one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=[*LAYOUTS, "wrapped" + WITH_A_CARD])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return stand_in(tmp_path, request.param)


@pytest.fixture
def decider(folder: Path) -> Iterator[Decider]:
    with thisthat.open(folder, engine="torch", device=DEVICE) as opened:
        yield opened


def test_it_opens_and_decides_in_the_published_format(decider: Decider) -> None:
    assert decider.source.name == "flock-io/this-that-model-1.0"
    assert decider.reading.state_tokens == 32_768
    texts = decider.prompt_text(STATE, QUESTIONS, packing="together")
    wanted = (
        f"Context:\n{STATE}"
        "\n\nQuestion 1: Is it lost?\nOptions:\n(A) no: it will come\n(B) yes: it is gone"
        "\nAnswer 1: ("
        "\n\nQuestion 2: Which queue?\nOptions:\n(A) billing: money\n(B) shipping\nAnswer 2: ("
        "\n\nQuestion 3: How angry?\nOptions:\n(A) 0: calm\n(B) 1: furious\nAnswer 3: ("
    )
    assert [re.sub(r"⟦slot \d: 2 options⟧", "", text) for text in texts] == [wanted]
    found = decider.decide(STATE, QUESTIONS)
    assert all(sum(a.probabilities.values()) == pytest.approx(1) for a in found.answers.values())


def test_a_state_of_the_ladders_length_is_read(decider: Decider) -> None:
    assert decider.ask("." * 2_000, "Is it long?").yes > 0


def test_its_legend_stands_on_its_own_wire_alone(decider: Decider) -> None:
    service = Service(Settings(port=0), lambda ref, lam: decider)
    service.checkpoints.load("default", None)
    questions: dict[str, Any] = {
        "queue": {
            "type": "choice",
            "instructions": "Which queue?",
            "criteria": {"billing": "money", "shipping": None},
        },
        "lost": {"type": "noul", "instructions": "Is it lost?"},
    }
    body = {"model": "default", "state": STATE, "questions": questions}
    legend = Choice(
        ["billing", "shipping"], "Which queue?\n\nOptions:\n- billing: money\n- shipping"
    )
    numbered = {"queue": legend, "lost": Boolean("Is it lost?")}
    wanted = decider.decide(STATE, numbered, packing="together")
    answers = post(service, "/v1/systemone", body).json()["answers"]
    on_the_wire = answers["queue"]["probabilities"]
    assert on_the_wire == wanted["queue"].probabilities
    assert answers["lost"]["noul"] == wanted["lost"].probabilities["yes"]
    asked = {"model": "default", "states": [STATE], "questions": questions}
    ours = json.loads(post(service, "/v1/decide", asked).text.splitlines()[0])
    apart = {"queue": QUESTIONS["queue"], "lost": Boolean("Is it lost?")}
    plain = decider.decide(STATE, apart)["queue"].probabilities
    assert ours["answers"]["queue"]["probabilities"] == plain
    assert on_the_wire != plain


def test_the_bench_asks_it_as_its_scripts_do(
    decider: Decider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    pairs = decider.decide_pairs

    def listen(states: Any, **how: Any) -> Any:
        asked.append(how["packing"])
        return pairs(states, **how)

    monkeypatch.setattr(decider, "decide_pairs", listen)
    system = EngineSystem(decider)
    options = (("no", None), ("yes", None))
    for family in ("local_geometry", "noisy_actuator", "context_ladder"):
        items = [Item("s", family, "boolean", "state", f"q{n}?", options, 0) for n in range(4)]
        replies: dict[int, Reply] = {}
        system.answer(items, replies.__setitem__)
        assert len(replies) == 4
    assert asked == ["together", "apart", "together"]
    path = tmp_path / "rows.jsonl"
    write_items(path, make_items(6))
    context = Context(Setting(out=tmp_path), Console(file=io.StringIO()))
    context._systems[None] = system
    _, found = run_measurement(decisions.measurement_of(path), context, ["thisthat"])
    assert found.questions["count"] == 6


def test_the_cohort_has_its_published_temperature(
    decider: Decider, shared_data: Path, tmp_path: Path
) -> None:
    context = Context(Setting(out=tmp_path, data=shared_data), Console(file=io.StringIO()))
    system = EngineSystem(decider)
    context._systems[None] = system
    found = cohort.run(context)
    assert "temperature 1.3" in found.caveats[0]
    item = found.items[0]
    plain = decider.ask(item.state, item.as_question()).probabilities
    logits = np.log(list(plain.values())) / 1.3
    wanted = np.exp(logits) / np.exp(logits).sum()
    # Half precision may round otherwise in another batch.
    close = pytest.approx(tuple(wanted), rel=1e-6 if DEVICE == "cpu" else 0.05)
    assert found.replies[0].probabilities == close


def test_a_reply_without_probabilities_has_no_temperature() -> None:
    assert Reply(1).at_temperature(1.3) == Reply(1)
    assert from_probabilities((0.2, 0.8)).at_temperature(1).probabilities == (0.2, 0.8)


@pytest.mark.parametrize("layout", EVERY_LAYOUT)
def test_lambda_turns_it_back_to_its_base(layout: str, tmp_path: Path) -> None:
    base = stand_in(tmp_path / "base", layout)
    start = open_checkpoint(base)
    tuned = open_checkpoint(stand_in(tmp_path / "tuned", layout, seed=3))
    shipped = tmp_path / "delta"
    ship_delta(start, tuned.weights(), shipped, tuned.card, bits=8)
    answers = {}
    for name, ref, lam in (("base", base, None), ("0", shipped, 0.0), ("1/2", shipped, 0.5)):
        with thisthat.open(ref, lam=lam, engine="torch", device=DEVICE) as decider:
            answers[name] = decider.ask(STATE, "Is it lost?").yes
    assert answers["base"] == answers["0"] != answers["1/2"]
    assert not any(moved(start.weights(), open_checkpoint(shipped, 0.0).weights()).values())
    assert any(moved(start.weights(), open_checkpoint(shipped, 0.5).weights()).values())


def test_a_decider_folder_reads_its_own_settings(tmp_path: Path) -> None:
    settings = {"version": "v10", "temperature": 1.3, "isolated_levels": True}
    folder = write_published(tmp_path / "any-name", shards=2, decider_config=settings)
    with thisthat.open(folder, engine="torch", device=DEVICE) as decider:
        assert decider.source.version == "v10"
        assert "Proposed answer: calm" in decider.prompt_text(STATE, QUESTIONS)[0]


@pytest.mark.parametrize("layout", EVERY_LAYOUT)
def test_a_decider_goes_through_every_verb(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"version": "v10", "temperature_by_type": {"noul": 2.0}, "schema_first": True}
    parent = stand_in(tmp_path, layout, DECIDER, decider_config=settings)
    with thisthat.open(parent, engine="torch", device=DEVICE) as decider:
        assert decider.reading.temperatures.of("boolean", 2, "state-first") == 2
        service = Service(Settings(port=0), lambda ref, lam: decider)
        service.checkpoints.load("default", None)
        spec = {"type": "noul", "instructions": "Is it lost?", "criteria": {"true": "it is gone"}}
        body = {"model": "default", "state": STATE, "questions": {"lost": spec}}
        served = post(service, "/v1/systemone", body).json()["answers"]["lost"]["noul"]
        asked = Boolean("Is it lost?", true="it is gone")
        assert served == decider.ask(STATE, asked).yes
        assert "(B) yes: it is gone" in decider.prompt_text(STATE, {"lost": asked})[0]
        replies: dict[int, Reply] = {}
        EngineSystem(decider).answer(make_items(6), replies.__setitem__)
        assert all(reply.chosen is not None for reply in replies.values())
    monkeypatch.setattr("thisthat_lab.train.teach.fit_light", lambda *_: None)
    rows = [item for item in tiny.colour_items(180) if item.kind == "boolean"]
    write_items(tmp_path / "rows.jsonl", rows)
    taught = tmp_path / "taught"
    teach(tmp_path / "rows.jsonl", taught, print, initial=str(parent), minutes=0.002)
    before, after = open_checkpoint(parent).weights(), open_checkpoint(taught)
    assert after.card.prompt.family == "decider"
    none, half = (open_checkpoint(taught, lam).weights() for lam in (0.0, 0.5))
    assert not any(moved(before, none).values())
    assert any(moved(before, half).values())
    assert any(moved(half, after.weights()).values())
    trained = trained_on_colours(tmp_path, parent)
    assert trained.card.prompt.family == "decider"
    assert all(moved(before, trained.weights()).values())


def test_half_weights_run_as_their_makers_run_them(tmp_path: Path) -> None:
    half = stored_in_half(open_checkpoint(write_published(tmp_path / FLOCK)).config)
    assert half
    assert choose_dtype("auto", torch.device("cuda"), half) == torch.bfloat16
    assert choose_dtype("auto", torch.device("mps"), half) == torch.float16
    assert choose_dtype("auto", torch.device("mps")) == torch.float32
    assert choose_dtype("auto", torch.device("cpu"), half) == torch.float32


TAUGHT = [(layout, False) for layout in EVERY_LAYOUT]


@pytest.mark.parametrize(
    ("layout", "light"), [*TAUGHT, ("flat", True), ("sharded" + WITH_A_CARD, True)]
)
def test_it_can_be_taught(
    layout: str, light: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not light:
        monkeypatch.setattr("thisthat_lab.train.teach.fit_light", lambda *_: None)
    parent = stand_in(tmp_path, layout)
    rows = [item for item in tiny.colour_items(180) if item.kind == "boolean"]
    data, taught = tmp_path / "rows.jsonl", tmp_path / "taught"
    write_items(data, rows)
    found = teach(data, taught, print, initial=str(parent), minutes=0.002)
    assert found.held_out_rows > 0
    before, after = open_checkpoint(parent).weights(), open_checkpoint(taught)
    if light:
        # Whichever is right more often is what was written.
        assert bool(after.heads) != any(moved(before, after.weights()).values())
    else:
        assert any(moved(before, after.weights()).values())
    assert not any(moved(before, open_checkpoint(taught, 0.0).weights()).values())
    with thisthat.open(taught, engine="torch", device=DEVICE) as decider:
        assert 0 < decider.ask("red 1", "Red?").yes < 1


@pytest.mark.parametrize("layout", EVERY_LAYOUT)
def test_it_can_be_trained(layout: str, tmp_path: Path) -> None:
    initial = stand_in(tmp_path, layout)
    after = trained_on_colours(tmp_path, initial)
    assert after.card.prompt.family == "flock"
    assert all(moved(open_checkpoint(initial).weights(), after.weights()).values())
    with thisthat.open(tmp_path / "run" / "checkpoint", engine="torch", device=DEVICE) as decider:
        assert 0 < decider.ask("red 1", "Red?").yes < 1
