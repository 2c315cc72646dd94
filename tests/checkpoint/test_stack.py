"""Stacks: a delta on a parent, which at lambda 0 is that parent, and what is refused by name."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.checkpoint.tiny import tiny_weights, write_tiny_gguf
from thisthat.checkpoint import open_checkpoint, opening, read_card, write_card
from thisthat.checkpoint.card import CARD_FILE, Card, Limits, PathBase
from thisthat.checkpoint.checkpoint import Checkpoint
from thisthat.checkpoint.delta import Delta
from thisthat.checkpoint.model import Weights
from thisthat.checkpoint.opening import topmost_delta
from thisthat.checkpoint.restack import describe_stack, flatten, restack
from thisthat.checkpoint.ship import ship_delta, ship_heads, ship_taught
from thisthat.errors import CheckpointError, InvalidInputError
from thisthat.prompt_format import PromptFormat
from thisthat.temperature import OptionsRule, Temperatures

CARD = Card(
    name="first",
    version="1.0.0",
    base=PathBase("."),
    limits=Limits(100, 200),
    prompt=PromptFormat(open_state=True),
    temperatures=Temperatures(1.0, {"choice": 1.5}),
    byte_weights=True,
    byte_activations=True,
)
SECOND = replace(CARD, name="second", temperatures=Temperatures(by_options=OptionsRule(1, 0.5, 1)))
THIRD = replace(
    CARD, name="third", prompt=PromptFormat(), byte_activations=False, limits=Limits(50, 60)
)


def moved(weights: Weights, seed: int) -> Weights:
    """The weights a little further on, all but one of the norms."""
    return {
        name: tensor if name == "model.norm.weight" else tensor + np.float32(0.02) * step
        for (name, tensor), step in zip(
            weights.items(), tiny_weights(seed=seed).values(), strict=True
        )
    }


@pytest.fixture
def stack(tmp_path: Path) -> Path:
    """A folder with a base and three deltas, one on top of the other: first, second, third."""
    write_tiny_gguf(tmp_path / "tiny.gguf", tiny_weights())
    base = open_checkpoint(tmp_path / "tiny.gguf")
    ship_delta(base, moved(base.weights(), 1), tmp_path / "first", CARD, bits=8)
    below = open_checkpoint(tmp_path / "first")
    for seed, card in ((2, SECOND), (3, THIRD)):
        ship_taught(below, moved(below.weights(), seed), tmp_path / card.name, card, bits=8)
        below = open_checkpoint(tmp_path / card.name)
    return tmp_path


def same(first: Weights, second: Weights) -> bool:
    return first.keys() == second.keys() and all(
        np.array_equal(tensor.view(np.uint32), second[name].view(np.uint32))
        for name, tensor in first.items()
    )


@pytest.mark.parametrize(("child", "parent"), [("third", "second"), ("second", "first")])
def test_lambda_zero_is_the_parent(child: str, parent: str, stack: Path) -> None:
    off, below = open_checkpoint(stack / child, lam=0), open_checkpoint(stack / parent)
    assert same(off.weights(), below.weights())
    assert off.in_force == replace(
        below.in_force, name=child, version=off.card.version, base=off.card.base,
        delta=off.card.delta, provenance=off.card.provenance,
    )  # fmt: skip
    assert (off.identity, off.fingerprint) == (below.identity, below.fingerprint)
    assert off.weights_sha256 == below.weights_sha256
    assert (off.has_byte_weights, off.has_byte_activations) == (True, True)
    on = open_checkpoint(stack / child)
    assert on.card.name == child
    assert not same(on.weights(), below.weights())
    assert len({on.identity, on.fingerprint, on.weights_sha256, below.identity}) == 4


def test_reading_switches_above_zero_and_the_card_says_so(stack: Path) -> None:
    parent = open_checkpoint(stack / "third").card.parent
    assert parent is not None
    assert set(parent.switches) == {"prompt", "limits", "byte_activations"}
    written = json.loads((stack / "third" / CARD_FILE).read_text())
    assert written["parent"]["switches"] == ["prompt", "limits", "byte_activations"]
    for lam, is_open, tokens in ((0, True, 100), (0.01, False, 50), (1, False, 50)):
        opened = open_checkpoint(stack / "third", lam=lam)
        assert opened.prompt.open_state is is_open
        assert opened.in_force.limits.state_tokens == tokens
        assert opened.has_byte_activations is is_open


def test_numbers_move_with_lambda(stack: Path) -> None:
    below, top = open_checkpoint(stack / "second"), open_checkpoint(stack / "third")
    half = open_checkpoint(stack / "third", lam=0.5)
    start, middle, end = below.weights(), half.weights(), top.weights()
    name = "model.embed_tokens.weight"  # Never rounded to bytes.
    np.testing.assert_allclose(middle[name], (start[name] + end[name]) / 2, atol=1e-6)
    for options in (2, 20):
        heats = [
            opened.in_force.temperatures.of("choice", options, "state-first")
            for opened in (below, half, top)
        ]
        assert heats[0] != heats[2] == 1.5
        assert heats[1] == pytest.approx((heats[0] * heats[2]) ** 0.5)
    with pytest.raises(InvalidInputError, match="depend on the number of options"):
        write_card(half.in_force, stack / "half.json")
    kept = [
        open_checkpoint(stack / "second", lam).in_force.temperatures.of("score", 2, "state-first")
        for lam in (0, 0.3, 1)
    ]
    assert kept[0] == 1.0
    assert 1.0 < kept[1] < kept[2]


def test_a_stack_has_versions_lambdas_and_hashes_of_its_own(stack: Path) -> None:
    top = open_checkpoint(stack / "third", lam=0.25)
    assert [(layer.name, layer.lam, layer.kind) for layer in top.layers] == [
        ("first", 1.0, "weights"), ("second", 1.0, "weights"), ("third", 0.25, "weights")
    ]  # fmt: skip
    marks = [layer.sha256[:8] for layer in top.layers]
    assert len(set(marks)) == 3
    assert [layer.version for layer in top.layers] == [
        "1.0.0", f"1.0.0+{marks[1]}", f"1.0.0+{marks[1]}.{marks[2]}"
    ]  # fmt: skip
    assert top.root.card.name == "first"
    assert top.base_sha256 == open_checkpoint(stack / "tiny.gguf").base_sha256
    assert same(top.base_alone().weights(), tiny_weights())
    assert not (stack / "third" / "model.safetensors").exists()


def test_a_parent_below_lambda_one_stays_there(stack: Path) -> None:
    half = open_checkpoint(stack / "second", lam=0.5)
    ship_taught(half, moved(half.weights(), 5), stack / "on half", THIRD, bits=8)
    off = open_checkpoint(stack / "on half", lam=0)
    assert same(off.weights(), half.weights())
    assert off.identity == half.identity != open_checkpoint(stack / "second").identity
    assert [layer.lam for layer in off.layers] == [1.0, 0.5, 0.0]
    on = open_checkpoint(stack / "on half")
    assert on.weights_sha256 != open_checkpoint(stack / "third").weights_sha256


def test_a_stack_moves_as_a_whole(stack: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    expected = open_checkpoint(stack / "third")
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "moved"
    for name in ("second", "third"):
        shutil.copytree(stack / name, elsewhere / name)
    shutil.copytree(stack / "first", elsewhere / "first")
    found = open_checkpoint(elsewhere / "third")
    assert found.identity == expected.identity
    assert same(found.weights(), expected.weights())


def _edit(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    card = json.loads((folder / CARD_FILE).read_text())
    change(card)
    (folder / CARD_FILE).write_text(json.dumps(card))


def test_a_missing_or_other_parent_is_refused(stack: Path) -> None:
    card = open_checkpoint(stack / "second").card
    write_card(
        replace(card, provenance={"by": "hand"}, name="renamed"), stack / "second" / CARD_FILE
    )
    open_checkpoint(stack / "third")  # Names and provenance do not count.
    write_card(replace(card, temperatures=Temperatures(2.0)), stack / "second" / CARD_FILE)
    with pytest.raises(CheckpointError) as caught:
        open_checkpoint(stack / "third", lam=0)
    message = str(caught.value)
    assert f"parent: needs second {card.version} with the sha256 " in message
    assert "thisthat delta stack" in message
    shutil.rmtree(stack / "second")
    with pytest.raises(CheckpointError, match=r"parent: second 1\.0\.0\+\w{8} is missing; it was"):
        open_checkpoint(stack / "third")


def test_a_delta_for_another_parent_is_refused(stack: Path) -> None:
    for name in ("second", "third"):  # Neither file may take the other's place.
        other = {"second": "third", "third": "second"}[name]
        shutil.copytree(stack / name, stack / f"{name} mixed")
        shutil.copy(stack / other / "delta.safetensors", stack / f"{name} mixed")
        digest = open_checkpoint(stack / other).layers[-1].sha256
        _edit(stack / f"{name} mixed", lambda card, d=digest: card["delta"].update(sha256=d))
        with pytest.raises(CheckpointError, match="was made for the base with sha256"):
            open_checkpoint(stack / f"{name} mixed")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda card: card.update(base={"kind": "path", "path": "."}), "stands in place of base"),
        (lambda card: card.update(delta=None, **{"lambda": 0}), "delta: is missing; a card with"),
        (lambda card: card["parent"].update(colour=1), "parent: unknown key 'colour'"),
        (lambda card: card["parent"].update(**{"lambda": 2}), "parent: lambda: is 2.0; it must"),
        (lambda card: card["parent"].pop("sha256"), "parent: sha256: is missing"),
        (lambda card: card["parent"].update(switches=["loop"]), "card differs from its parent in"),
        (lambda card: card["delta"].update(kind="tails"), "kind: 'tails' is not one of 'weights'"),
        (lambda card: card["parent"].update(ref="../third"), "has more than 16 layers"),
    ],
)
def test_a_wrong_card_is_refused(
    change: Callable[[dict[str, Any]], None], message: str, stack: Path
) -> None:
    _edit(stack / "third", change)
    with pytest.raises(CheckpointError) as caught:
        open_checkpoint(stack / "third")
    assert message in str(caught.value)


def test_heads_are_listed_with_their_lambda_and_leave_the_weights_alone(stack: Path) -> None:
    below = open_checkpoint(stack / "second")
    ship_heads(below, b"heads", stack / "headed", replace(THIRD, name="headed"))
    headed = open_checkpoint(stack / "headed", lam=0.5)
    path = stack / "headed" / "heads.safetensors"
    assert headed.heads == [(path, 0.5)]
    assert open_checkpoint(stack / "headed", lam=0).heads == below.heads == []
    assert same(headed.weights(), below.weights())
    assert headed.fingerprint == below.fingerprint
    assert headed.prompt == below.prompt
    assert len({headed.identity, below.identity, open_checkpoint(stack / "headed").identity}) == 3
    assert headed.weights_sha256 != below.weights_sha256
    assert open_checkpoint(stack / "headed", lam=0).identity == below.identity

    ship_taught(headed, moved(headed.weights(), 7), stack / "top", THIRD, bits=8)
    top = open_checkpoint(stack / "top")
    assert top.heads == headed.heads
    path.write_bytes(b"other")
    with pytest.raises(CheckpointError, match=r"heads\.safetensors: has the sha256"):
        open_checkpoint(stack / "headed")


def test_heads_that_go_with_weights_share_their_lambda(stack: Path) -> None:
    below = open_checkpoint(stack / "second")
    trained = moved(below.weights(), 7)
    ship_taught(below, trained, stack / "both", THIRD, bits=8, heads=b"heads")
    both = open_checkpoint(stack / "both", lam=0.5)
    path = stack / "both" / "heads.safetensors"
    assert both.heads == [(path, 0.5)]
    assert not same(both.weights(), below.weights())
    off = open_checkpoint(stack / "both", lam=0)
    assert (off.heads, off.identity) == ([], below.identity)
    assert same(off.weights(), below.weights())
    alone = ship_and_open(below, trained, stack / "alone")
    assert open_checkpoint(stack / "both").identity != alone.identity
    rows = describe_stack(both)["layers"]
    assert [row["kind"] for row in rows[-2:]] == ["weights", "heads"]
    assert rows[-1]["switches"] == rows[-2]["switches"]

    moved_on = restack(stack / "both", open_checkpoint(stack / "first"), stack / "elsewhere")
    assert [each.read_bytes() for each, _ in moved_on.heads] == [b"heads"]
    path.write_bytes(b"other")
    for opened in (open_checkpoint, topmost_delta):
        with pytest.raises(CheckpointError, match=r"heads\.safetensors: has the sha256"):
            opened(stack / "both")


def ship_and_open(parent: Checkpoint, trained: Weights, folder: Path) -> Checkpoint:
    ship_taught(parent, trained, folder, THIRD, bits=8)
    return open_checkpoint(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda card: card["delta"].update(kind="heads"), "heads: go with weights, not with heads"),
        (lambda card: card["delta"]["heads"].update(file="../x"), "must be a file beside the card"),
        (lambda card: card["delta"]["heads"].pop("sha256"), "sha256: is missing"),
    ],
)
def test_wrong_heads_beside_weights_are_refused(
    change: Callable[[dict[str, Any]], None], message: str, stack: Path
) -> None:
    below = open_checkpoint(stack / "second")
    ship_taught(below, below.weights(), stack / "both", THIRD, bits=8, heads=b"heads")
    _edit(stack / "both", change)
    with pytest.raises(CheckpointError, match=message):
        open_checkpoint(stack / "both")


def test_heads_cannot_change_how_their_parent_reads(stack: Path) -> None:
    ship_heads(open_checkpoint(stack / "second"), b"heads", stack / "headed", SECOND)

    def closed(card: dict[str, Any]) -> None:
        card["prompt"]["open_state"] = False
        card["parent"]["switches"] = ["prompt"]

    _edit(stack / "headed", closed)
    with pytest.raises(CheckpointError, match="heads cannot change prompt of their parent"):
        open_checkpoint(stack / "headed")


def test_a_failure_in_the_middle_leaves_nothing_and_no_folder_is_overwritten(
    stack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = open_checkpoint(stack / "third")
    before = sorted(path.name for path in stack.iterdir())

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("thisthat.checkpoint.ship.write_card", full)
        with pytest.raises(OSError, match="No space left"):
            ship_taught(below, moved(below.weights(), 4), stack / "fourth", THIRD, bits=8)
    assert sorted(path.name for path in stack.iterdir()) == before
    with pytest.raises(FileExistsError, match="already exists"):
        ship_taught(below, moved(below.weights(), 4), stack / "second", THIRD, bits=8)
    assert open_checkpoint(stack / "third").identity == below.identity


OLD = """{
  "name": "old",
  "version": "0.3.0",
  "base": {
    "kind": "path",
    "path": "../tiny.gguf",
    "sha256": "BASE"
  },
  "delta": {
    "file": "delta.safetensors",
    "sha256": "DELTA"
  },
  "lambda": 0.5,
  "prompt": {
    "family": "thisthat",
    "chat": false,
    "isolated_levels": false,
    "cell_tokens": true,
    "open_state": true
  },
  "layout": "state-first",
  "layouts": [
    "state-first",
    "schema-first"
  ],
  "temperatures": {
    "default": 1.0,
    "by_kind": {
      "boolean": 1.5
    }
  },
  "limits": {
    "state_tokens": 100,
    "row_tokens": 200
  },
  "loop": {
    "first": 0,
    "last": 1,
    "times": 2
  },
  "byte_weights": true
}
"""


def test_a_card_from_before_there_were_parents_means_what_it_meant(stack: Path) -> None:
    first = open_checkpoint(stack / "first")
    text = OLD.replace("BASE", first.base_sha256).replace("DELTA", first.layers[0].sha256)
    path = stack / "first" / CARD_FILE
    path.write_text(text)
    for lam, delta_is_in in ((None, True), (1, True), (0.5, True), (0, False)):
        old = open_checkpoint(stack / "first", lam)
        assert old.lam == (0.5 if lam is None else lam)
        assert (old.parent, old.heads) == (None, [])
        assert old.prompt == PromptFormat(cell_tokens=True, open_state=delta_is_in)
        assert (old.loop is not None, old.has_byte_weights) == (delta_is_in, delta_is_in)
        assert old.in_force.temperatures == Temperatures(1.0, {"boolean": 1.5})
        pair = f"{old.base_sha256} {first.layers[0].sha256}"
        both = hashlib.sha256(pair.encode()).hexdigest()
        assert old.weights_sha256 == (both if delta_is_in else old.base_sha256)
    assert same(old.weights(), tiny_weights())
    write_card(old.card, path)
    assert path.read_text() == text


def test_the_card_of_the_package_is_written_as_it_was_read(tmp_path: Path) -> None:
    packaged = opening.SHIPPED["default"] / CARD_FILE
    write_card(read_card(packaged), tmp_path / CARD_FILE)
    assert json.loads((tmp_path / CARD_FILE).read_text()) == json.loads(packaged.read_text())


def test_what_is_taught_on_a_shipped_checkpoint_names_it(
    stack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CheckpointError, match=r'^other: is neither "default", '):
        open_checkpoint("other")
    monkeypatch.setitem(opening.SHIPPED, "other", stack / "first")
    other = open_checkpoint("other", 0.5)
    assert (other.ref, other.card.name, other.lam) == ("other", "first", 0.5)
    ship_taught(other, moved(other.weights(), 4), tmp_path / "taught", SECOND, bits=8)
    taught = open_checkpoint(tmp_path / "taught")
    assert (taught.card.parent or pytest.fail("no parent")).ref == "other"
    assert same(taught.parent.weights() if taught.parent else {}, other.weights())
    assert open_checkpoint("other", 0).identity == open_checkpoint(stack / "first", 0).identity
    copied = restack("other", open_checkpoint(stack / "first"), tmp_path / "copied")
    assert copied.card.delta is not None
    with pytest.raises(CheckpointError, match=r'is neither "default", (.*, )?"other", a folder, '):
        open_checkpoint("others")


def test_half_of_one_delta_on_half_of_another_is_the_mean_of_both(stack: Path) -> None:
    base = open_checkpoint(stack / "tiny.gguf")
    card = replace(CARD, name="other", byte_weights=False)
    for name, seed in (("one", 5), ("two", 6)):
        ship_delta(base, moved(base.weights(), seed), stack / name, card, bits=8)
    restack(stack / "two", open_checkpoint(stack / "one", 0.5), stack / "both")
    flatten(open_checkpoint(stack / "both", 0.5), stack / "mean", bits=8)
    first, second = (open_checkpoint(stack / name, 1.0).weights() for name in ("one", "two"))
    mixed = open_checkpoint(stack / "mean").weights()
    for name, tensor in mixed.items():
        mean = (first[name] + second[name]) / 2
        far = np.abs(first[name] - second[name]).max()
        np.testing.assert_allclose(tensor, mean, atol=0.02 * far + 1e-6, err_msg=name)


def test_products_are_shipped_moved_and_flattened(stack: Path) -> None:
    below = open_checkpoint(stack / "first")
    card = replace(THIRD, name="product", byte_weights=False)
    end = moved(below.weights(), 9)
    report = ship_taught(below, end, stack / "product", card, rank=64)
    assert {each.storage for each in report.tensors} == {"zero", "exact", "product"}
    assert same(open_checkpoint(stack / "product", 0).weights(), below.weights())

    restack(stack / "product", open_checkpoint(stack / "second"), stack / "again")
    both = [(stack / name / "delta.safetensors") for name in ("product", "again")]
    first, second = (Delta(path) for path in both)
    assert first.base_sha256 != second.base_sha256
    assert first.entries == second.entries
    for name in first.entries:
        np.testing.assert_array_equal(first.tensor(name), second.tensor(name))

    top = open_checkpoint(stack / "product")
    flat = flatten(top, stack / "flat", rank=64)
    assert flat.relative_error < 0.01
    base, found = tiny_weights(), open_checkpoint(stack / "flat").weights()
    for name, tensor in top.weights().items():
        far = np.linalg.norm(tensor - base[name])
        assert np.linalg.norm(found[name] - tensor) <= 0.012 * far, name
