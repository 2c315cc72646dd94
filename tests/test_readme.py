"""The figures of the README are those of the result files; its pictures are what scripts draw."""

from __future__ import annotations

import json
import re
import shlex
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripts.make_animation import SESSION, drawn
from scripts.make_badges import drawn as badge_drawn
from scripts.make_badges import said
from scripts.make_loop_picture import COLOURS
from scripts.make_loop_picture import drawn as loop_drawn
from scripts.make_one_pass_picture import asked, pictures

import thisthat
from tests.test_commands import found_command, refused
from thisthat_lab.suites.written import read_tasks

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def result(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "docs" / "results" / f"{name}.json").read_text())
    return found


def line(name: str, label: str) -> float:
    return next(float(each["value"]) for each in result(name)["lines"] if each["label"] == label)


def groups(name: str, by: str) -> list[dict[str, Any]]:
    return [each for each in result(name)["groups"] if each["by"] == by]


def split(name: str) -> tuple[float, float, int]:
    """Accuracy, chance and number of questions of the dev file's seen or held-out tasks."""
    found = next(
        each for each in groups("decisions-decisions_dev", "split") if each["name"] == name
    )
    return found["right"] / found["questions"], found["chance"], found["questions"]


def median(name: str, workload: str, system: str) -> float:
    for each in result(name)["timings"]:
        if each["workload"] == workload and each["system"].startswith(system):
            return float(each["p50"])
    raise AssertionError((name, workload, system))


def row(beginning: str) -> list[str]:
    """The cells of the README's row that begins so."""
    found = [each for each in README.splitlines() if each.startswith(f"| {beginning}")]
    assert len(found) == 1, beginning
    return [cell.strip().replace("*", "") for cell in found[0].strip("|").split("|")]


@pytest.mark.parametrize(
    ("beginning", "name"),
    [("7,511 new rows", "seen_task"), ("6,313 rows of public tasks", "heldout_task")],
)
def test_public_tasks(beginning: str, name: str) -> None:
    right, chance, questions = split(name)
    cells = row(beginning)
    assert cells[1:3] == [f"{right:.3f}", f"{chance:.3f}"]
    assert cells[0].startswith(f"{questions:,} ")


@pytest.mark.parametrize("kind", ["boolean", "choice", "score"])
def test_written_tasks(kind: str) -> None:
    cells = row(f"unseen written tasks: {kind}s")
    assert cells[1] == f"{line('written', f'accuracy, {kind}'):.3f}"
    chance = {each["name"]: each["chance"] for each in groups("written", "kind")}
    assert cells[2] == f"{chance[kind]:.3f}"
    kinds = {f"{task.domain}.{task.name}": task.kind for task in read_tasks(ROOT / "data/branches")}
    ours = {each["name"]: each for each in groups("written", "task")}
    shared = [
        each
        for each in groups("written-minilm", "task")
        if each["name"] in ours and kinds[each["name"]] == kind
    ]
    assert sum(each["questions"] for each in shared) == sum(
        each["questions"] for name, each in ours.items() if kinds[name] == kind
    )
    beside = sum(each["right"] for each in shared) / sum(each["questions"] for each in shared)
    assert cells[3] == f"all-MiniLM-L6-v2, nearest option: {beside:.3f}"


@pytest.mark.parametrize(
    ("beginning", "what"),
    [
        ("fourteen unseen tasks, 30 labels", "30 labels, 14 tasks"),
        ("twelve of them, 200", "200 labels, 12 tasks"),
    ],
)
def test_taught_tasks(beginning: str, what: str) -> None:
    cells = row(beginning)
    assert cells[1] == f"{line('teach', f'{what}: light teach'):.3f}"
    told = re.findall(r"[\d.]+(?=[,;]|$)", cells[3])
    systems = ("TF-IDF", "MiniLM", "zero-shot")
    assert told == [f"{line('teach', f'{what}: {system}'):.3f}" for system in systems]


def test_rules_and_calibration() -> None:
    anchors = json.loads((ROOT / "src/thisthat_lab/bench/anchors.json").read_text())["values"]
    cells = row("branch-shaped rules")
    assert cells[1] == f"{line('branch', 'accuracy'):.3f}"
    assert cells[2] == f"{line('branch', 'chance'):.3f}"
    published = anchors["branch.accuracy"]
    for value in (published["paper"], *published["others"].values()):
        assert str(value) in cells[3]
    steps = groups("branch", "arithmetic steps")
    cells = row("arithmetic of two to four steps")
    assert [each["name"] for each in steps] == ["2", "3", "4"]
    assert cells[1] == f"{line('branch', 'arithmetic'):.3f}"
    asked = sum(each["questions"] for each in steps)
    assert cells[2] == f"{sum(each['chance'] * each['questions'] for each in steps) / asked:.3f}"
    assert sum(each["right"] for each in steps) / asked == line("branch", "arithmetic")
    published = anchors["branch.arithmetic"]
    for value in (published["paper"], *published["others"].values()):
        assert str(value) in cells[3]
    public = line("decisions-decisions_dev", "ECE, 15 bins: heldout_task (n = 6313)")
    ours = line("written", "ECE, 15 bins")
    familiar = line("decisions-decisions_dev", "ECE, 15 bins: seen_task (n = 7511)")
    assert row("calibration error")[1] == f"{public:.3f}, {ours:.3f}"
    assert row("calibration error")[3].startswith(f"{familiar:.3f} on tasks it was trained on")


def test_published_latency_stands_beside_ours() -> None:
    anchors = json.loads((ROOT / "src/thisthat_lab/bench/anchors.json").read_text())["values"]
    published = anchors["latency.milliseconds"]
    low, high, fastest, slowest = (
        published["others"][each]
        for each in ("Jev, stated low", "Jev, stated high", "hosted, fastest", "hosted, slowest")
    )
    cells = row("one question, 256 tokens, the same Xeon")
    assert cells[2:5] == [
        "",
        "",
        f"the paper's 1.88 B model, laptop GPU: {published['paper']}; "
        f"Jev, a hosted decision service: {low} to {high}; hosted LLMs: "
        f"{fastest} (deepseek-v4.1-flash) to {slowest:,} (claude-opus-5)",
    ]
    ours = line("latency-native-amx", "1 question, 256 tokens (n = 76): p50")
    assert float(cells[1]) == pytest.approx(ours, rel=0.005)


def test_latency_says_which_checkpoint_was_measured() -> None:
    versions = {
        result(name)["system"]["version"] for name in ("latency-native", "latency-native-amx")
    }
    (version,) = versions
    assert row("one decision, milliseconds")[1].startswith(f"`thisthat`, checkpoint {version} ")


@pytest.mark.parametrize(
    ("beginning", "name", "workload"),
    [
        ("a boolean, 60 tokens, two Neoverse", "latency-native", "one boolean, 60 tokens, cold"),
        ("a boolean, 60 tokens, two Xeon", "latency-native-amx", "one boolean, 60 tokens, cold"),
        (
            "four questions, 200 tokens",
            "latency-native-amx",
            "triage, 4 questions, 200 tokens, schema-first together, warm",
        ),
        ("one question, 256 tokens, H200", "gpu", "135 M default: 1 × 256 tokens, one question"),
    ],
)
def test_latency(beginning: str, name: str, workload: str) -> None:
    other = "(c) transformers" if name == "gpu" else "(b) transformers"
    shown = [float(cell.replace(",", "")) for cell in row(beginning)[1:4] if cell]
    systems = ["(a)", other] if name == "gpu" else ["(a)", other, "(c1) llama.cpp"]
    for value, system in zip(shown, systems, strict=True):
        assert value == pytest.approx(median(name, workload, system), rel=0.005)


def test_the_first_page_of_the_site_shows_rows_of_the_readme() -> None:
    page = (ROOT / "docs" / "site" / "index.md").read_text(encoding="utf-8")
    rows = [each for each in page.splitlines() if each.startswith("|")]
    assert len(rows) > 12
    assert [each for each in rows if each not in README.splitlines()] == []


def test_every_command_behind_a_figure_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("DATA/decisions_dev.jsonl.zst", "WHEEL"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    figures = README[README.index("## Is it any good?") : README.index("| use it when")]
    found = re.findall(r"`thisthat (bench [^`]+)`", figures)
    assert len(found) >= 6
    for words in map(shlex.split, found):
        assert refused(words) is None, words
        command, _, given = found_command(words)
        assert "needs --data" not in command.help or "--data" in given, words


def test_accuracy_is_that_of_the_version_that_ships() -> None:
    for name in ("written", "branch", "decisions-decisions_dev"):
        assert result(name)["system"]["version"] == thisthat.__version__
    card = json.loads((ROOT / "src/thisthat/checkpoint/default/decision.json").read_text())
    assert card["version"] == thisthat.__version__


def test_the_citation_has_the_same_version() -> None:
    assert f"\nversion: {thisthat.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_loop_is_drawn_by_its_script() -> None:
    for file, colours in COLOURS.items():
        assert (ROOT / "docs" / "pictures" / file).read_text() == loop_drawn(**colours)


@pytest.mark.weights
def test_the_one_pass_is_that_of_the_example() -> None:
    found = asked()
    count = sum(map(len, found.percents))
    for file in pictures(found):
        text = (ROOT / "docs" / "pictures" / file).read_text(encoding="utf-8")
        shown = [int(each) for each in re.findall(r">(\d+) %<", text)]
        assert len(shown) == count
        rest = iter(shown)
        percents = [[next(rest) for _ in each] for each in found.percents]
        assert text == pictures(replace(found, percents=percents))[file]
        # Engines differ by a few percent.
        assert shown == pytest.approx([p for each in found.percents for p in each], abs=6)


def test_the_badges_say_what_the_package_says() -> None:
    for file, words in said().items():
        assert (ROOT / "docs" / "pictures" / file).read_text(encoding="utf-8") == badge_drawn(
            *words
        )
        assert f"![{' '.join(words)}](docs/pictures/{file})" in README
    assert said()["badge-version.svg"][1] == thisthat.__version__


def test_the_animation_shows_its_session_and_can_stand_still() -> None:
    text = (ROOT / "docs" / "pictures" / "session.svg").read_text(encoding="utf-8")
    assert len(text.encode()) < 300_000
    ElementTree.fromstring(text)
    assert "prefers-reduced-motion:reduce" in text
    lines = re.findall(r'<text class="(c|o)"[^>]*>([^<]*)<', text)
    shown = [said.replace("\xa0", " ") for kind, said in lines if kind == "c"]
    assert [each.replace("&quot;", '"') for each in shown] == [f"$ {each}" for each in SESSION]
    again = drawn([("thisthat ask <x>", ["a & b"])])
    assert "a\u00a0&amp;\u00a0b" in again
