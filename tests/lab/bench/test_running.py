from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from tests.lab.bench.conftest import make_items
from thisthat.errors import InvalidInputError
from thisthat.items.files import write_items
from thisthat.items.item import Item
from thisthat_lab.bench.journal import Journal, set_hash
from thisthat_lab.bench.measure import Context, Setting, fair_subset, run_measurement
from thisthat_lab.bench.measurements.questions import decisions
from thisthat_lab.bench.report.terminal import print_result
from thisthat_lab.bench.result import (
    Bar,
    Group,
    Line,
    Result,
    ResultError,
    Timing,
    read_result,
    write_result,
)
from thisthat_lab.bench.systems.opening import open_system
from thisthat_lab.bench.systems.protocol import Done, Identity, SystemOptions
from thisthat_lab.bench.systems.replies import Reply, count_problems, from_probabilities, unanswered


class Counting:
    """A system that counts what it is asked and may be stopped in the middle."""

    identity = Identity("counting", "test")
    independent = True

    def __init__(self, stop_after: int | None = None) -> None:
        self.asked = 0
        self._stop_after = stop_after

    def answer(self, items: Sequence[Item], done: Done) -> None:
        for number, item in enumerate(items):
            if self.asked == self._stop_after:
                raise KeyboardInterrupt
            self.asked += 1
            p = [0.5 / (len(item.options) - 1)] * len(item.options)
            p[item.answer] = 0.5
            done(number, from_probabilities(p))


def quiet(setting: Setting) -> Context:
    return Context(setting, Console(file=io.StringIO()))


@settings(deadline=None)
@given(
    st.one_of(
        st.builds(unanswered, st.text(min_size=1), st.none() | st.floats(0, 100)),
        st.lists(st.floats(0.01, 1), min_size=1, max_size=5).map(
            lambda p: from_probabilities([x / sum(p) for x in p], 0.25, 7)
        ),
    )
)
def test_a_reply_survives_its_row(reply: Reply) -> None:
    back = Reply.from_row(json.loads(json.dumps(reply.as_row())))
    assert back.chosen == reply.chosen
    assert back.problem == reply.problem
    assert back.probabilities == pytest.approx(reply.probabilities, abs=1e-8)


def test_a_reply_is_answered_or_says_why() -> None:
    for bad in ((None, None, None), (1, None, "empty")):
        with pytest.raises(InvalidInputError, match="problem"):
            Reply(*bad)


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    items = make_items(20)
    first = Counting(stop_after=8)
    with pytest.raises(KeyboardInterrupt):
        quiet(Setting(out=tmp_path)).ask("part", items, first)
    second = Counting()
    context = quiet(Setting(out=tmp_path))
    replies = context.ask("part", items, second)
    assert (first.asked, second.asked) == (8, 12)
    assert [reply.chosen for reply in replies] == [item.answer for item in items]
    context.finish()
    assert not list(tmp_path.glob("*.partial.jsonl"))
    assert len(next(tmp_path.glob("answers-*.jsonl")).read_text().splitlines()) == 20
    third = Counting()
    assert quiet(Setting(out=tmp_path)).ask("part", items, third) == replies
    assert third.asked == 20


def test_a_journal_belongs_to_its_system(tmp_path: Path) -> None:
    items = make_items(6)
    with pytest.raises(KeyboardInterrupt):
        quiet(Setting(out=tmp_path)).ask("part", items, Counting(stop_after=3))
    other = Counting()
    other.identity = Identity("another", "test")
    quiet(Setting(out=tmp_path)).ask("part", items, other)
    assert other.asked == 6


def test_a_damaged_journal_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    items = make_items(6)
    journal = Journal(tmp_path, {"name": "x"})
    for item in items[:3]:
        journal.add(item, from_probabilities((0.2, 0.5, 0.3)))
    journal.add(items[3], from_probabilities((0.5, 0.5)))
    journal.close()
    path = next(tmp_path.glob("*.partial.jsonl"))
    path.write_bytes(path.read_bytes() + b'[1]\n{"q": "x"}\n{"q": "y", "c"')
    again = Journal(tmp_path, {"name": "x"})
    # The fourth reply has too few probabilities for its question.
    assert [again.find(item) is not None for item in items] == [True] * 3 + [False] * 3
    assert again.damaged == 3
    again.add(items[3], from_probabilities((1.0, 0.0, 0.0)))
    again.close()
    assert Journal(tmp_path, {"name": "x"}).find(items[3]) is not None


def test_two_runs_do_not_write_into_one_journal(tmp_path: Path) -> None:
    journal = Journal(tmp_path, {"name": "x"})
    with pytest.raises(InvalidInputError, match="another run writes answers of the same system"):
        Journal(tmp_path, {"name": "x"})
    Journal(tmp_path, {"name": "y"}).close()
    journal.close()
    Journal(tmp_path, {"name": "x"}).close()


def test_questions_already_asked_are_not_asked_again(tmp_path: Path) -> None:
    context = quiet(Setting(out=tmp_path))
    system = Counting()
    items = make_items(6)
    context.ask("one", items[:4], system)
    context.ask("two", [*items, items[0]], system)
    assert system.asked == 6
    turned = [replace(item, options=item.options[::-1], answer=2 - item.answer) for item in items]
    context.ask("three", turned, system)
    assert system.asked == 12


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 12), st.permutations(list(range(24))))
def test_the_quick_subset_is_fixed_and_fair(size: int, order: list[int]) -> None:
    items = make_items(24)
    kept = fair_subset(items, size)
    shuffled = fair_subset([items[number] for number in order], size)
    assert {item.fingerprint for item in kept} == {item.fingerprint for item in shuffled}
    for family in ("choice_0", "choice_1"):
        answers = [item.answer for item in kept if item.family == family]
        assert len(answers) == min(size, 12)
        counts = [answers.count(answer) for answer in range(3)]
        assert max(counts) - min(counts) <= 1


def some_result() -> Result:
    return Result(
        measurement="spatial",
        title="Spatial benchmark",
        system=Identity("made", "engine", "1", 0.5, "test").as_dict(),
        questions={"count": 3, "states": 2, "sha256": "0", "quick": False},
        lines=[
            Line("accuracy", 0.5, 0.2, 0.8, "wilson", anchor="spatial.accuracy"),
            Line("ceiling E[max(q, 1 − q)]", None),
        ],
        groups=[
            Group("family", "first_move", 4, 2, 1, 0.1, 0.9, 0.25, "spatial.family.first_move")
        ],
        timings=[Timing("w", "(a) ours", "call", 3, 2.0, 3.0, 1.5, 2.5, 1.8, 2.2, None, 2, 3)],
        bars=[Bar("w: (b)/(a)", None, 5, True, "ratio", "not installed", "x86_64")],
        problems={"too long": 1},
        series={"risk_coverage": [[0.5, 0.1], [1.0, 0.2]], "empty": [], "deep": {"a": [1, 2]}},
        rows={"answer": [0, 1, 2], "text": ["a [", "b ]", "{"]},
        caveats=["A text that ends in a bracket ["],
    )


def test_a_result_survives_its_file(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write_result(path, some_result())
    assert read_result(path) == some_result()
    assert '"answer": [0, 1, 2]' in path.read_text()


def test_result_files_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write_result(path, some_result())
    text = path.read_text()
    path.write_text(text.replace('"schema": 1', '"schema": 7'))
    with pytest.raises(ResultError, match=r"r.json: has schema version 7; .* reads 1"):
        read_result(path)
    path.write_text(text[: len(text) // 2])
    with pytest.raises(ResultError, match="cut off"):
        read_result(path)
    path.write_text('{"a": 1}')
    with pytest.raises(ResultError, match="no schema"):
        read_result(path)
    path.write_text('{"schema": 1, "lines": [], "more": 1}')
    with pytest.raises(ResultError, match="fields"):
        read_result(path)
    with pytest.raises(ResultError, match="cannot be read"):
        read_result(tmp_path / "nothing.json")


def test_the_printed_table_has_the_papers_column() -> None:
    out = io.StringIO()
    print_result(some_result(), Console(file=out, width=160))
    text = out.getvalue()
    assert "0.839" in text
    assert "0.508" in text
    assert "1 too long" in text
    assert "ceiling E[max(q, 1 − q)]" in text
    assert "bracket [" in text
    assert "λ = 0.5" in text


def test_a_file_of_decisions_is_scored_by_split_and_source(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    items = [replace(item, split="heldout_task") for item in make_items(6)] + make_items(8, "score")
    write_items(path, items)
    context = quiet(Setting(system="constant", out=tmp_path))
    written, result = run_measurement(decisions.measurement_of(path), context, ["x", "y z"])
    assert read_result(written) == result
    assert {group.name for group in result.grouped("split")} == {"heldout_task", "train"}
    assert result.command == "x 'y z'"
    assert sum(group.questions for group in result.grouped("kind")) == 14
    assert result.line("decisions.accuracy") is not None
    assert any(line.label.startswith("ECE, 15 bins: ") for line in result.lines)


def test_a_bad_row_stops_before_anything_is_scored(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    rows = [item.as_dict() for item in make_items(3)]
    rows[2]["answer"] = 3
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    context = quiet(Setting(system="majority", out=tmp_path / "out"))
    with pytest.raises(InvalidInputError, match=r"bad.jsonl, line 3.*answer is 3"):
        run_measurement(decisions.measurement_of(path), context, [])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["majority", "constant", "bag-of-words"])
def test_baselines_answer_everything(name: str) -> None:
    items = make_items(30) + make_items(30, "boolean")
    replies: dict[int, Reply] = {}
    open_system(name, SystemOptions()).answer(items, replies.__setitem__)
    assert sorted(replies) == list(range(60))
    assert count_problems(replies.values()) == {}


def test_a_baseline_that_looks_at_the_whole_set_is_never_asked_a_part(tmp_path: Path) -> None:
    items = [replace(item, family="f", answer=int(n >= 4)) for n, item in enumerate(make_items(9))]
    context = quiet(Setting(system="majority", out=tmp_path))
    assert {reply.chosen for reply in context.ask("some", items[:5])} == {0}
    assert {reply.chosen for reply in context.ask("all", items)} == {1}


def test_the_majority_is_the_most_frequent_right_answer() -> None:
    items = [
        replace(item, family="f", answer=int(n % 3 == 0)) for n, item in enumerate(make_items(9))
    ]
    replies: dict[int, Reply] = {}
    open_system("majority", SystemOptions()).answer(items, replies.__setitem__)
    assert {reply.chosen for reply in replies.values()} == {0}
    open_system("constant", SystemOptions()).answer(items, replies.__setitem__)
    assert replies[0].probabilities == pytest.approx((6 / 9, 3 / 9, 0))


def test_bag_of_words_learns_words_and_not_the_test_fold() -> None:
    options = (("no", None), ("yes", None))
    telling = [
        Item("s", "f", "boolean", f"state {n} {'red' if n % 2 else 'blue'}", "q?", options, n % 2)
        for n in range(200)
    ]
    silent = [replace(item, state=f"state {n}") for n, item in enumerate(telling)]
    found = []
    for items in (telling, silent):
        replies: dict[int, Reply] = {}
        open_system("bag-of-words", SystemOptions()).answer(items, replies.__setitem__)
        found.append(sum(replies[n].chosen == item.answer for n, item in enumerate(items)) / 200)
    assert found[0] > 0.95
    assert found[1] < 0.7


def test_the_set_hash_knows_order_and_answers() -> None:
    items = make_items(4)
    other = [*items[:3], replace(items[3], answer=1)]
    assert len({set_hash(items), set_hash(items[::-1]), set_hash(other)}) == 3
