"""From a command to token ids: what `bench` asks this-that-model, under its own vocabulary.

The words are spelled out in ``format_cases``, as the published scripts write them; states are those
of the items asked.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.path_engine import ListeningEngine
from tests.prompt.format_cases import LEVELS, MOVES, NOISY, PUBLISHED, STEPS, Pieces, asked
from tests.prompt.test_formats import encode_pieces, qwen
from thisthat.decide.decider import Decider
from thisthat.decide.processor import Reading
from thisthat.items.item import Item
from thisthat.prompt.builder import PromptBuilder
from thisthat.questions import Source
from thisthat.temperature import Temperatures
from thisthat_lab.bench import suite
from thisthat_lab.bench.measure import Context, Findings, Setting, fair_subset
from thisthat_lab.bench.measurements.questions import actuator, branch, heldout, ladder, parity
from thisthat_lab.bench.measurements.questions.spatial import measurement_of
from thisthat_lab.bench.measurements.questions.surfaces import SURFACES
from thisthat_lab.bench.systems.opening import EngineSystem
from thisthat_lab.suites.spatial import released
from thisthat_lab.suites.spatial.registry import held_out_families

NO_YES = ["no", "yes"]
STATE_TOKENS = 32_768


@dataclass
class Bench:
    context: Context
    engine: ListeningEngine

    def run(self, name: str) -> Findings:
        return suite.measurement(name).run(self.context)

    def read(self, wanted: Sequence[Pieces]) -> bool:
        """Whether the engine read exactly these prompts, in any order."""
        ids = [encode_pieces(pieces, qwen()) for pieces in wanted]
        return sorted(self.engine.read) == sorted(ids)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(actuator, "QUICK_STATES_PER_SIDE", 2)
    monkeypatch.setattr(ladder, "QUICK_WORLDS_PER_SIDE", 1)
    monkeypatch.setattr(heldout, "QUICK_BANDS_PER_SIDE", 2)
    monkeypatch.setattr(heldout, "QUICK_PER_FAMILY", 12)
    layouts = ("state-first", "schema-first")
    reading = Reading("state-first", layouts, 65_536, STATE_TOKENS, Temperatures())
    engine = ListeningEngine()
    decider = Decider(
        PromptBuilder(qwen(), PUBLISHED), engine, reading, Source("flock", "1", None), str
    )
    context = Context(Setting(quick=True, out=tmp_path), Console(file=io.StringIO()))
    context._systems[None] = EngineSystem(decider)
    yield Bench(context, engine)
    context.finish()


def alone(state: Any, text: str, options: list[str]) -> Pieces:
    return [f"Context:\n{state}", *asked("", text, options)]


def four(states: dict[Any, None]) -> list[Pieces]:
    """The four steps about each state, numbered, in one pass."""
    numbered: Pieces = []
    for place, text in enumerate(STEPS, start=1):
        numbered += asked(f" {place}", text, NO_YES)
    return [[f"Context:\n{state}", *numbered] for state in states]


def asked_of(item: Item) -> Pieces:
    """An item alone: its words and options as they stand, a description behind the name."""
    state = item.state if isinstance(item.state, str) else json.dumps(item.state)
    told = [name if text is None else f"{name}: {text}" for name, text in item.options]
    return alone(state, item.question, told)


def states_of(items: Sequence[Item], family: str) -> dict[Any, None]:
    return dict.fromkeys(item.state for item in items if item.family == family)


def test_the_cohort_is_read_as_its_file_says(bench: Bench, shared_data: Path) -> None:
    bench.context.setting = replace(bench.context.setting, data=shared_data)
    bench.run("cohort")
    rows = [json.loads(line) for line in (shared_data / "recorded_68.jsonl").open()]
    assert bench.read([alone(row["state"], row["question"], row["options"]) for row in rows])


def test_actuator_and_geometry(bench: Bench) -> None:
    found = bench.run("actuator")
    noisy = [item for item in found.items if item.family == "noisy_actuator"]
    assert len(noisy) == 2 * 4 * 4
    wanted = [alone(item.state, NOISY, NO_YES) for item in noisy]
    assert bench.read(wanted + four(states_of(found.items, "local_geometry")))
    assert any("words of this checkpoint's published scripts" in text for text in found.caveats)


def test_both_arms_of_the_ladder_to_side_200(bench: Bench) -> None:
    found = bench.run("ladder")
    states = states_of(found.items, "context_ladder")
    assert len(states) == 2 * 5
    assert max(len(qwen()(str(state))) for state in states) < STATE_TOKENS
    assert bench.read(four(states))
    assert all(reply.chosen is not None for reply in found.replies)


def test_distances_are_a_score_of_seven_levels_and_held_out_families_keep_our_words(
    bench: Bench,
) -> None:
    """Of the held-out families the paper has names, scores and what each of them needs.

    Their words are ours; the frame is the published one.
    """
    found = bench.run("heldout")
    options = [f"{level}: {text}" for level, text in enumerate(LEVELS)]
    bands = [item for item in found.items if item.family == "distance_bands"]
    families = [item for item in found.items if item.family in held_out_families()]
    assert bands
    assert {item.family for item in families} == set(held_out_families())
    wanted = [alone(item.state, MOVES, options) for item in bands]
    wanted += [asked_of(item) for item in families]
    read = {tuple(ids) for ids in bench.engine.read}
    assert read >= {tuple(encode_pieces(pieces, qwen())) for pieces in wanted}


def test_surfaces_are_asked_in_the_published_frame(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The paper says that a window is an ASCII block, the same cells as JSON, or as prose.

    Of the questions it publishes families and numbers of options; the words are ours.
    """
    few = fair_subset(released.read_released(), 9)
    monkeypatch.setattr(released, "read_released", lambda: few)
    found = bench.run("surfaces")
    assert {item.facts["surface"] for item in found.items} == set(SURFACES)
    for item in found.items:
        shown = str(item.state)
        assert (item.facts["surface"] == "json") is shown.startswith("{")
    assert bench.read([asked_of(item) for item in few])


def test_parity_is_asked_in_the_published_frame(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The paper asks the distance in the same maze as one of five bands, and as even or odd.

    It does not say in which words; they are ours.
    """
    monkeypatch.setattr(parity, "QUICK_MAZES", 4)
    pairs = bench.run("parity").items
    assert [item.state for item in pairs[::2]] == [item.state for item in pairs[1::2]]
    assert {len(item.options) for item in pairs[::2]} == {5}
    assert {name for item in pairs[1::2] for name, _ in item.options} == {"even", "odd"}
    assert bench.read([asked_of(item) for item in pairs])


def test_branch_and_arithmetic_are_asked_in_the_published_frame(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of branch-shaped families and arithmetic the paper has scores alone.

    Questions, families and how a description stands behind its option are ours; state, options and
    answer are read as for any other question.
    """
    monkeypatch.setattr(branch, "QUICK_PER_FAMILY", 2)
    found = bench.run("branch")
    assert {item.source.endswith("arithmetic") for item in found.items} == {False, True}
    assert bench.read([asked_of(item) for item in found.items])


def test_the_public_file_is_asked_verbatim(bench: Bench, tmp_path: Path) -> None:
    from thisthat_lab.suites.spatial.registry import SEARCH_FAMILIES, SEEN_FAMILIES

    cells = '{"agent": [1, 5],  "rows": ["XXXXX", "..A##"]}'
    rows = [
        {
            "family": family,
            "state": cells if place else "Maze 5x5.\n#####",
            "question": f"Which one, {family}?",
            "options": NO_YES if place % 2 else ["yes", "no"],
            "answer_index": 0,
        }
        for place, family in enumerate(sorted({*SEARCH_FAMILIES, *SEEN_FAMILIES, "onward"}))
    ]
    path = tmp_path / "test.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    measurement_of(path, 150).run(bench.context)
    assert bench.read(
        [alone(row["state"], str(row["question"]), list(row["options"])) for row in rows]
    )
