from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thisthat
from tests.lab.train import tiny
from thisthat.checkpoint import open_checkpoint
from thisthat.checkpoint.delta import Delta
from thisthat.checkpoint.ship import ship_delta
from thisthat.errors import CheckpointError, InvalidInputError
from thisthat.items.files import write_items
from thisthat.items.item import Item
from thisthat.items.labels import read_labelled
from thisthat.questions import Boolean
from thisthat.teach.known import taught_share
from thisthat.temperature import Temperatures
from thisthat_lab.train import teach as module
from thisthat_lab.train.beside import layers_read
from thisthat_lab.train.config import Run, Schedule
from thisthat_lab.train.teach import split_rows, teach, usable_rows
from thisthat_lab.train.ways import Way, way_of


def quietly(_: str) -> None:
    pass


def reds(count: int) -> list[Item]:
    return [item for item in tiny.colour_items(3 * count) if item.kind == "boolean"]


def write_red_labels(file: Path) -> None:
    """Labels of a question whose answer stands in the state."""
    rows = [
        {"state": f"{colour} thing {n}", "answers": {"red": colour == "red"}}
        for n in range(60)
        for colour in ("red", "blue")
    ]
    file.write_text("\n".join(map(json.dumps, rows)))


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many steps are taken, in place of minutes."""
    real, count = module.Way.run, [25]

    def in_steps(way: module.Way, *arguments: Any) -> Run:
        run = real(way, *arguments)
        data = run.data.model_copy(update={"longest": 160})
        schedule = Schedule(steps=count[0], warm_up_steps=5)
        return run.model_copy(update={"schedule": schedule, "data": data})

    monkeypatch.setattr(module.Way, "run", in_steps)
    return count


@pytest.fixture
def no_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heads learn nothing, so that trained weights are kept."""
    monkeypatch.setattr(module, "fit_light", lambda *_: None)


def test_teaching_says_what_it_gained_and_writes_a_checkpoint(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, steps: list[int], no_heads: None
) -> None:
    write_items(workplace / "rows.jsonl", reds(500))
    monkeypatch.setattr("thisthat_lab.train.ways.layers_read", lambda _: 0)
    taught = teach(
        workplace / "rows.jsonl",
        workplace / "taught",
        quietly,
        initial=str(workplace / "model"),
    )
    assert (taught.trained_rows, taught.held_out_rows) == (300, 200)
    assert taught.nll_after < taught.nll_before
    assert taught.temperatures is not None
    assert taught.supported == (taught.gain.low > 0)
    plain = "do not show an improvement" in "\n".join(taught.lines())
    assert plain != taught.supported
    checkpoint = open_checkpoint(workplace / "taught")
    assert checkpoint.lam == 1.0
    assert checkpoint.card.provenance["taught"]["held_out_rows"] == 200
    rows = read_labelled(workplace / "rows.jsonl")
    assert taught_share(str(workplace / "taught"), None, rows) == 1
    assert checkpoint.card.temperatures.by_kind["boolean"] > 0
    assert open_checkpoint(workplace / "taught", 0.0).weights().keys()
    assert taught.delta_error < 0.05
    assert taught.version == checkpoint.card.version
    assert checkpoint.card.version.startswith("unversioned+")
    assert taught.lines()[-1].endswith("at λ = 0 it is model unversioned, bit for bit")
    assert not list(workplace.glob(".taught*"))


def test_training_that_is_no_better_than_heads_is_not_kept(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, steps: list[int]
) -> None:
    """From labels of a named question; an untrained model is right by chance, its words tell."""
    write_red_labels(workplace / "labels.jsonl")
    steps[0] = 1
    taught = teach(
        workplace / "labels.jsonl",
        workplace / "mine",
        quietly,
        questions={"red": Boolean("Is it red?")},
        initial=str(workplace / "model"),
    )
    assert taught.light is not None
    assert taught.light.value > 0.9
    assert taught.nll_light is not None
    assert taught.nll_light <= taught.nll_after
    assert not taught.kept
    assert "the light teach of all rows is what was written" in "\n".join(taught.lines())
    assert open_checkpoint(workplace / "mine").card.delta.kind == "heads"
    assert taught.version == open_checkpoint(workplace / "mine").card.version


def test_a_taught_checkpoint_stands_on_the_one_that_was_taught(
    workplace: Path, steps: list[int], no_heads: None
) -> None:
    """Which keeps its int8 form, and at λ = 0 is bit for bit what it was."""
    base = open_checkpoint(workplace / "model")
    start = {
        name: tensor + np.float32(0.01) * np.cos(np.arange(tensor.size)).reshape(tensor.shape)
        for name, tensor in base.weights().items()
    }
    heats = Temperatures(1.0, {"boolean": 1.1, "choice": 1.4})
    card = replace(
        base.card, name="first", version="2.0", byte_weights=True, byte_activations=True,
        temperatures=heats,
    )  # fmt: skip
    ship_delta(base, start, workplace / "first", card, bits=8)
    steps[0] = 8
    parent = workplace / "first"
    for name in ("second", "third"):
        items = [replace(item, state=f"{item.state} {name}") for item in reds(500)]
        write_items(workplace / "rows.jsonl", items)
        taught = teach(workplace / "rows.jsonl", workplace / name, quietly, initial=str(parent))
        assert taught.not_int8 is None
        below, top = open_checkpoint(parent), open_checkpoint(workplace / name)
        off = open_checkpoint(workplace / name, lam=0)
        assert (top.has_byte_weights, top.has_byte_activations) == (True, True)
        assert top.card.version.startswith("2.0+")
        assert off.identity == below.identity != top.identity
        assert top.in_force.temperatures.of("choice", 3, "state-first") == 1.4
        for key, tensor in below.weights().items():
            assert np.array_equal(off.weights()[key], tensor), key
        assert any(not np.array_equal(top.weights()[key], off.weights()[key]) for key in start)
        parent = workplace / name


def test_what_cannot_stay_int8_is_said_loudly(
    workplace: Path, steps: list[int], no_heads: None
) -> None:
    tiny.write_checkpoint(workplace / "gelu", hidden_act="gelu")
    base = open_checkpoint(workplace / "gelu")
    ship_delta(base, base.weights(), workplace / "first", replace(base.card, byte_weights=True))
    write_items(workplace / "rows.jsonl", reds(100))
    steps[0] = 6
    taught = teach(
        workplace / "rows.jsonl", workplace / "new", quietly, initial=str(workplace / "first")
    )
    (said,) = [line for line in taught.lines() if line.startswith("SLOWER: it runs in float32")]
    assert said.endswith("training with rounding is not known for llama layers like these")
    assert not open_checkpoint(workplace / "new").has_byte_weights
    assert open_checkpoint(workplace / "new", lam=0).has_byte_weights


def test_adapters_keep_the_form_and_are_shipped_as_products(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, no_heads: None
) -> None:
    """The way of a GPU for what cannot be trained with rounding; it takes passes, not minutes."""
    base = open_checkpoint(workplace / "model")
    ship_delta(base, base.weights(), workplace / "first", replace(base.card, byte_weights=True))
    parent = str(workplace / "first")
    way = Way({"initial": parent, "train": "lora", "rank": 2}, {"rate": 5e-3}, rank=2)
    monkeypatch.setattr(module, "way_of", lambda _: way)
    write_items(workplace / "rows.jsonl", reds(100))
    taught = teach(workplace / "rows.jsonl", workplace / "new", quietly, initial=parent)
    assert "SLOWER" not in "\n".join(taught.lines())
    new = open_checkpoint(workplace / "new")
    assert new.has_byte_weights
    ranks = {entry.rank for entry in Delta(new.layers[-1].path).entries.values()}
    assert max(rank for rank in ranks if rank) <= 2
    assert open_checkpoint(workplace / "new", lam=0).identity == open_checkpoint(parent).identity


def test_a_gpu_trains_adapters_where_rounding_is_not_known(
    workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.write_checkpoint(workplace / "gelu", hidden_act="gelu")
    base = open_checkpoint(workplace / "gelu")
    ship_delta(base, base.weights(), workplace / "first", replace(base.card, byte_weights=True))
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda: (80 << 30, 80 << 30))
    way = way_of(open_checkpoint(workplace / "first"))
    assert (way.rank, way.not_int8) == (16, None)
    assert way_of(base).rank is None


def test_heads_and_trained_weights_are_one_layer(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, steps: list[int]
) -> None:
    """What heads read stays as it was; λ = 0 is the parent, bit for bit."""
    write_red_labels(workplace / "labels.jsonl")
    monkeypatch.setattr(module.Taught, "kept", True)
    asked, parent = Boolean("Is it red?"), str(workplace / "model")
    teach(
        workplace / "labels.jsonl",
        workplace / "mine",
        quietly,
        questions={"red": asked},
        initial=parent,
    )
    taught, below = open_checkpoint(workplace / "mine"), open_checkpoint(parent)
    assert [layer.kind for layer in taught.layers] == ["weights", "heads"]
    read = layers_read(below)
    moved = {
        name
        for name, tensor in taught.weights().items()
        if not np.array_equal(tensor, below.weights()[name])
    }
    assert moved
    assert not any(f"layers.{number}." in name for number in range(read) for name in moved)
    with thisthat.open(workplace / "mine") as decider:
        assert (
            decider.ask("red thing 900", asked).yes > 0.5 > decider.ask("blue thing 7", asked).yes
        )
    with (
        thisthat.open(workplace / "mine", lam=0, engine="torch") as off,
        thisthat.open(parent, engine="torch") as before,
    ):
        assert off.ask("red thing 900", asked) == before.ask("red thing 900", asked)


def test_stopped_in_the_middle_it_leaves_nothing(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, steps: list[int], no_heads: None
) -> None:
    write_items(workplace / "rows.jsonl", reds(100))

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module.Session, "go", stop)
    before = sorted(workplace.iterdir())
    with pytest.raises(KeyboardInterrupt):
        teach(
            workplace / "rows.jsonl", workplace / "new", quietly, initial=str(workplace / "model")
        )
    assert sorted(workplace.iterdir()) == before


def full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    "place",
    [
        "thisthat_lab.train.loop.write_atomically",
        "thisthat_lab.train.saved.write_atomically",
        "thisthat.checkpoint.packing.write_atomically",
        "thisthat.checkpoint.ship.write_card",
    ],
)
def test_a_full_disk_is_one_clear_error_and_leaves_nothing(
    workplace: Path,
    monkeypatch: pytest.MonkeyPatch,
    steps: list[int],
    no_heads: None,
    place: str,
) -> None:
    write_items(workplace / "rows.jsonl", reds(100))
    steps[0] = 1
    before = {path: path.read_bytes() for path in workplace.rglob("*") if path.is_file()}
    monkeypatch.setattr(place, full)
    with pytest.raises(CheckpointError, match=r"new cannot be written: No space left on device"):
        teach(
            workplace / "rows.jsonl", workplace / "new", quietly, initial=str(workplace / "model")
        )
    assert {path: path.read_bytes() for path in workplace.rglob("*") if path.is_file()} == before
    assert not list(workplace.glob("*new*"))


def test_what_a_kill_left_is_removed_by_the_next_run(
    workplace: Path, steps: list[int], no_heads: None
) -> None:
    write_items(workplace / "rows.jsonl", reds(100))
    (workplace / f".new.{'a' * 16}").mkdir()
    (workplace / f".new.{'a' * 16}" / "resume.safetensors").touch()
    steps[0] = 1
    teach(workplace / "rows.jsonl", workplace / "new", quietly, initial=str(workplace / "model"))
    assert not list(workplace.glob(".new*"))


def test_a_gpu_short_of_memory_takes_the_way_of_one_card(
    workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = open_checkpoint(workplace / "model")
    write_items(workplace / "train.jsonl", reds(4))
    write_items(workplace / "held_out.jsonl", reds(4))
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    found = []
    for free in (7 << 30, 5 << 30):
        monkeypatch.setattr("torch.cuda.mem_get_info", lambda free=free: (free, free))
        run = way_of(parent).run(workplace, parent, reds(4), 1.0)
        found.append((run.optimiser.name, run.model.checkpointing))
    assert found == [("adamw", False), ("adamw-8bit", True)]


def test_rows_about_one_state_stay_on_one_side() -> None:
    items = [replace(item, state=f"s{i // 4}") for i, item in enumerate(tiny.colour_items(400))]
    taught, held_out = split_rows(items)
    assert not {item.state for item in taught} & {item.state for item in held_out}
    assert 120 <= len(held_out) <= 164
    assert len(taught) + len(held_out) == 400


def test_bad_rows_are_refused(tmp_path: Path) -> None:
    good = reds(100)
    cases: list[tuple[list[Item], str]] = [
        (good[:20], "has 20 different rows; at least 60"),
        ([replace(item, answer=0) for item in good], r"Red\?: has the answer 'no' in every row"),
        (
            [*good, replace(good[3], answer=1 - good[3].answer)],
            r"line 101: answers '(no|yes)' where the same state in .*line 4 has '(no|yes)'",
        ),
        (
            [*good, replace(good[0], kind="choice"), *_other_options(good[0])],
            r"line 102: has other options than .*line 101 for the same question \(maybe\)",
        ),
        (
            [replace(good[0], kind="choice", options=(("a", None), ("a", None)))],
            r"line 1, options\[1\]\.name: 'a' is already",
        ),
    ]
    for number, (items, message) in enumerate(cases):
        path = tmp_path / f"{number}.jsonl"
        write_items(path, items)
        with pytest.raises(InvalidInputError, match=message):
            usable_rows(path, quietly)


def test_bad_labels_are_named_by_line_and_field(tmp_path: Path) -> None:
    """With two questions a row, a label's number is not the number of its line."""
    asked = {"red": Boolean("Is it red?"), "dark": Boolean("Is it dark?")}
    good = [
        {"state": f"thing {n}", "answers": {"red": n % 2 == 0, "dark": n % 3 == 0}}
        for n in range(40)
    ]
    wrong = {"state": "thing 2", "answers": {"dark": False, "red": False}}
    only = [{**row, "answers": {**row["answers"], "red": True}} for row in good]
    cases = [
        (
            [*good, wrong],
            r"line 41, answers\.red: answers 'no' where the same state in "
            r".*line 3, answers\.red has 'yes'",
        ),
        (only, r"labels\.jsonl, red: has the answer 'yes' in every row"),
        (good[:20], "has 40 different labels; at least 60"),
    ]
    path = tmp_path / "labels.jsonl"
    for rows, message in cases:
        path.write_text("\n".join(map(json.dumps, rows)))
        with pytest.raises(InvalidInputError, match=message):
            usable_rows(path, quietly, asked)
    lines: list[str] = []
    path.write_text("\n".join(map(json.dumps, [*good, good[0]])))
    assert len(usable_rows(path, lines.append, asked)) == 80
    assert lines == ["2 labels repeat others and are left out"]


def _other_options(item: Item) -> list[Item]:
    return [replace(item, kind="choice", state="new", options=(*item.options, ("maybe", None)))]


def test_repeated_rows_count_once(tmp_path: Path) -> None:
    lines: list[str] = []
    write_items(tmp_path / "rows.jsonl", [*reds(100), *reds(10)])
    assert len(usable_rows(tmp_path / "rows.jsonl", lines.append)) == 100
    assert lines == ["10 rows repeat others and are left out"]


def test_a_folder_that_holds_something_is_not_overwritten(workplace: Path) -> None:
    with pytest.raises(InvalidInputError, match="is not empty"):
        teach(workplace / "colours.jsonl", workplace, quietly)
