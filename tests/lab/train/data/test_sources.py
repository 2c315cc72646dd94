"""Where rows come from, and what happens when a file is not what it should be."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.lab.suites.written import samples
from tests.lab.train import tiny
from thisthat.errors import InvalidInputError
from thisthat.items.files import write_items
from thisthat.items.item import Item
from thisthat.prompt.builder import PromptBuilder
from thisthat.prompt_format import PromptFormat
from thisthat_lab.train.config import parse_run
from thisthat_lab.train.data import sources as module
from thisthat_lab.train.data.sources import ChunkMaker, ItemStore, evaluation_rows

ROOMY = {"longest": 1024, "tokens_per_batch": 4096, "chunk_rows": 32}
OTHER = [[f"state {n}", n % 2] for n in range(20)]
NOTHING = {"schema_first": 0, "together": 0, "distractors": 0, "abstain_offer": 0, "swap_state": 0}


@pytest.fixture(scope="module")
def builder() -> PromptBuilder:
    tokenizer = tiny.tokenizer()
    return PromptBuilder(lambda text: tokenizer.encode(text).ids, PromptFormat())


def maker(folder: Path, builder: PromptBuilder, **changes: Any) -> ChunkMaker:
    return ChunkMaker(parse_run(tiny.run_table(folder, **changes), folder, "run"), builder)


def test_chunks_are_the_same_every_time(workplace: Path, builder: PromptBuilder) -> None:
    one, other = maker(workplace, builder), maker(workplace, builder)
    for number in (0, 5, 2):
        first, second = one[number], other[number]
        assert len(first.rows) == len(second.rows)
        for a, b in zip(first.rows, second.rows, strict=True):
            assert a.where == b.where
            np.testing.assert_array_equal(a.tokens, b.tokens)
            np.testing.assert_array_equal(a.targets, b.targets)
    assert one[0].rows[0].where != one[1].rows[0].where


def test_an_epoch_of_a_file_has_every_row_once(workplace: Path, builder: PromptBuilder) -> None:
    tiny.write_colours(workplace / "colours.jsonl", 48)
    chunks = maker(workplace, builder, augment=NOTHING, data={"chunk_rows": 300, "longest": 300})
    by_kind: dict[str, Counter[str]] = {}
    for row in chunks[0].rows:
        by_kind.setdefault(row.tags[0], Counter())[row.where] += 1
    for wheres in by_kind.values():
        assert len(wheres) == 16
        assert max(wheres.values()) - min(wheres.values()) <= 1


def test_weights_by_kind_family_and_evenness(workplace: Path, builder: PromptBuilder) -> None:
    items = tiny.colour_items(300)
    rare = [item for item in items if item.kind == "score"][:10]
    write_items(workplace / "colours.jsonl", [i for i in items if i.kind != "score"] + rare)

    def shares(**settings: Any) -> dict[str, float]:
        source = {"name": "c", "file": "colours.jsonl", **settings}
        found = maker(workplace, builder, sources=[source]).shares()
        return {name.rsplit("/", 1)[1]: share for name, share in found.items()}

    plain = shares()
    assert plain["score"] == pytest.approx(10 / 210, abs=1e-3)
    even = shares(evenness=0)
    assert even["score"] == pytest.approx(1 / 3, abs=1e-3)
    weighed = shares(evenness=0, kinds={"boolean": 2}, families={"colour": 0})
    assert weighed["choice"] == 0
    assert weighed["boolean"] == pytest.approx(2 / 3, abs=1e-3)
    with pytest.raises(InvalidInputError, match="leave out every row"):
        shares(sources={"tiny": 0})


def test_questions_about_one_state_share_a_row(workplace: Path, builder: PromptBuilder) -> None:
    items = [replace(item, state=f"state {i // 3}") for i, item in enumerate(tiny.colour_items(60))]
    write_items(workplace / "colours.jsonl", items)
    long = {"longest": 600, "chunk_rows": 64}
    together = maker(workplace, builder, augment={**NOTHING, "together": 1}, data=long)
    rows = together[0].rows
    assert {len(row.at) for row in rows} == {2, 3}
    for row in rows:
        text = tiny.tokenizer().decode(row.tokens.tolist())
        assert text.count("Context:") == 1
        assert text.count("Answer ") == len(row.at)
        assert len(set(row.tags)) == len(row.at)
    alone = maker(workplace, builder, augment=NOTHING, data=long)
    assert {len(row.at) for row in alone[0].rows} == {1}


def test_suites_are_grouped_weighed_and_kept_clean(
    workplace: Path, builder: PromptBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tiny.colour_items(6_000, seed=5)
    grouped = [replace(item, state=f"s{i // 3}") for i, item in enumerate(made)]

    def stream(_: Any) -> Any:
        def items(seed: int) -> Iterator[Item]:
            yield from grouped[seed % 1000 * 3 :]

        return items

    monkeypatch.setattr(module, "suite_stream", stream)
    source = {"name": "made", "suite": "branch", "kinds": {"score": 0.0}, "outcomes": ["red"]}
    run = parse_run(
        tiny.run_table(
            workplace, sources=[source], augment=NOTHING, data={"longest": 300, "chunk_rows": 64}
        ),
        workplace,
        "run",
    )
    chunks = ChunkMaker(run, builder)
    rows = chunks[3].rows
    assert len(rows) == 64
    tags = Counter(tag for row in rows for tag in row.tags)
    assert set(tags) == {"colour/choice", "red/boolean"}
    assert all((row.outcomes >= 0).all() == (row.tags == ("red/boolean",)) for row in rows)
    forbidden = frozenset(item.state_hash for item in grouped)
    with pytest.raises(StopIteration):
        ChunkMaker(run, builder, forbidden)._suite_rows(0, 0).__next__()


def test_suite_settings_are_checked(workplace: Path, builder: PromptBuilder) -> None:
    for settings, message in (
        (
            {"twin": 1},
            r"sources.b.settings: 'twin' is not one of \['abstain'.*'twins'\]",
        ),
        ({"twins": "often"}, "sources.b.settings.twins"),
        ({"twins": 2.0}, "twins: is 2.0"),
    ):
        source = {"name": "b", "suite": "branch", "settings": settings}
        with pytest.raises(InvalidInputError, match=message):
            maker(workplace, builder, sources=[source])


def test_the_real_suites_make_rows(workplace: Path, builder: PromptBuilder) -> None:
    sources = [
        {"name": "b", "suite": "branch"},
        {
            "name": "s",
            "suite": "spatial",
            "outcomes": ["stochastic"],
            "settings": {"map_sides": {"8": 1.0}, "questions_per_state": 2},
        },
    ]
    chunks = maker(workplace, builder, sources=sources, data={"longest": 4000, "chunk_rows": 24})
    rows = chunks[0].rows
    assert len(rows) > 12
    assert {row.where.split(",")[0] for row in rows} == {"b", "s"}


def test_rows_that_are_too_long_are_counted(workplace: Path, builder: PromptBuilder) -> None:
    items = tiny.colour_items(30)
    write_items(workplace / "colours.jsonl", [*items, replace(items[0], state="x" * 500)])
    short = {"longest": 160, "chunk_rows": 310}
    chunk = maker(workplace, builder, augment=NOTHING, data=short)[0]
    assert len(chunk.rows) + chunk.too_long == 310
    assert 5 <= chunk.too_long <= 15
    assert "colours, row 31" not in {row.where for row in chunk.rows}


# Bad input ---------------------------------------------------------------------------------------


def broken(path: Path, number: int, line: str) -> Path:
    lines = [json.dumps(item.as_dict()) for item in tiny.colour_items(50)]
    lines[number - 1] = line
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": None}, "the field 'question' is missing"),
        ({"answer": None}, "the field 'answer' is missing"),
        ({"answer": 3}, "answer is 3; it must be an index below 3"),
        ({"answer": -1}, "answer is -1"),
        ({"kind": "rank"}, "kind is 'rank'"),
        ({"target": [0.5, 0.2, 0.1]}, "target is not a distribution"),
    ],
)
def test_a_wrong_row_is_named_by_file_and_line(
    workplace: Path, builder: PromptBuilder, change: dict[str, Any], message: str
) -> None:
    row = {**tiny.colour_items(1)[0].as_dict(), **change}
    line = json.dumps({key: value for key, value in row.items() if value is not None})
    broken(workplace / "colours.jsonl", 17, line)
    with pytest.raises(InvalidInputError, match=rf"colours.jsonl, line 17.*{message}"):
        maker(workplace, builder)


def test_a_broken_line_in_a_compressed_file_is_named(
    workplace: Path, builder: PromptBuilder
) -> None:
    zstandard = pytest.importorskip("zstandard")
    plain = broken(workplace / "colours.jsonl", 23, '{"kind": "choice", ')
    packed = workplace / "colours.jsonl.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(plain.read_bytes()))
    with pytest.raises(InvalidInputError, match=r"colours.jsonl.zst, line 23"):
        maker(workplace, builder, sources=[{"name": "c", "file": packed.name}])


def test_an_empty_file_and_a_missing_split_are_refused(
    workplace: Path, builder: PromptBuilder
) -> None:
    with pytest.raises(InvalidInputError, match="nowhere: has no rows"):
        ItemStore(iter([]), "nowhere")
    with pytest.raises(InvalidInputError, match="has no rows of the split 'test'"):
        evaluation_rows(workplace / "held_out.jsonl", 10, ["test"], builder, 200)


def test_the_target_points_at_the_right_option_in_the_rendered_text(
    workplace: Path, builder: PromptBuilder
) -> None:
    """Whatever augmentation does, the labelled option is the one the state names."""
    settings = {"together": 0.5, "abstain_offer": 0.5, "distractors": 0.5, "swap_state": 0.5}
    chunks = maker(workplace, builder, augment=settings, data={"longest": 600, "chunk_rows": 300})
    checked = abstained = 0
    for row in chunks[0].rows:
        if row.tags != ("colour/choice",):
            continue
        text = tiny.tokenizer().decode(row.tokens.tolist())
        shown = re.findall(r"\n\([A-Z]\) ([^\n]*)", text)
        (count,) = row.counts
        assert len(shown) == count
        right = shown[int(row.targets.argmax())]
        (colour,) = re.findall(r"(red|green|blue) \d n0-", text)
        if colour in shown:
            assert right == colour
            checked += 1
        else:
            assert right not in tiny.COLOURS
            abstained += 1
    assert checked > 30
    assert abstained > 5


def test_written_tasks_are_a_source(workplace: Path, builder: PromptBuilder) -> None:
    (workplace / "tasks").mkdir()
    tasks = [samples.late(), samples.number(split="heldout", states=OTHER)]
    lines = "".join(f"{json.dumps(task)}\n" for task in tasks)
    (workplace / "tasks" / "logistics.jsonl").write_text(lines)
    source = {"name": "written", "tasks": "tasks", "settings": {"several": 0.5}}
    rows = maker(workplace, builder, sources=[source], data=ROOMY)[0].rows
    assert len(rows) > 10
    assert {tag.partition(".")[0] for row in rows for tag in row.tags} == {"logistics"}
    assert not any("parcel_number" in tag for row in rows for tag in row.tags)


def test_a_missing_folder_of_tasks_is_named(workplace: Path, builder: PromptBuilder) -> None:
    with pytest.raises(InvalidInputError, match=r"sources\.written\.tasks: there is no folder"):
        maker(workplace, builder, sources=[{"name": "written", "tasks": "nowhere"}])


def test_proposals_and_negations_are_added_where_asked(
    workplace: Path, builder: PromptBuilder
) -> None:
    plain = maker(workplace, builder, augment=NOTHING, data=ROOMY)[0].rows
    augment = {**NOTHING, "verify": 1.0}
    varied = maker(workplace, builder, augment=augment, data=ROOMY)[0].rows
    tags = Counter(tag for row in varied for tag in row.tags)
    assert sum(tags.values()) > sum(len(row.tags) for row in plain)
    assert tags["colour_verified/boolean"] == tags["colour/choice"]


def test_a_share_of_open_rows_is_read_causally(workplace: Path) -> None:
    tokenizer = tiny.tokenizer()
    opened = PromptBuilder(lambda text: tokenizer.encode(text).ids, PromptFormat(open_state=True))
    rows = maker(workplace, opened, augment={**NOTHING, "causal": 0.5})[0].rows
    share = sum(row.is_open for row in rows) / len(rows)
    assert 0.3 < share < 0.7


LONG = "the big box that came with the van this morning stands in the hall of the old house"


def test_gaps_and_typos_spare_what_is_named_and_change_nothing_at_nought(
    workplace: Path, builder: PromptBuilder
) -> None:
    items = [replace(item, state=f"{LONG} {item.state}") for item in tiny.colour_items(60)]
    write_items(workplace / "long.jsonl", items)
    source = {"name": "long", "file": "long.jsonl"}

    def texts(**changes: Any) -> list[str]:
        made = maker(
            workplace, builder, sources=[{**source, **changes}], augment=NOTHING, data=ROOMY
        )
        rows = made[0].rows
        assert [row.tokens.tolist() for row in rows] == [
            row.tokens.tolist() for row in made[0].rows
        ]
        return [bytes(row.tokens.astype(np.uint8)).hex() for row in rows]

    plain = texts()
    assert texts(gaps=0, typos=0) == plain
    assert texts(gaps=1, typos=1, whole=["tiny"]) == plain
    assert texts(gaps=1, typos=1, whole=["red"])[:20] != plain[:20]
    for noise in ({"gaps": 1}, {"typos": 1}):
        changed = texts(**noise)
        assert sum(a != b for a, b in zip(changed, plain, strict=True)) > len(plain) / 3


def test_a_folder_of_tasks_is_named_by_its_files(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("1")
    first = module.tasks_sha256(tmp_path)
    (tmp_path / "README.md").write_text("about it")
    assert module.tasks_sha256(tmp_path) == first
    (tmp_path / "a.jsonl").write_text("2")
    changed = module.tasks_sha256(tmp_path)
    (tmp_path / "a.jsonl").rename(tmp_path / "b.jsonl")
    assert len({first, changed, module.tasks_sha256(tmp_path)}) == 3
