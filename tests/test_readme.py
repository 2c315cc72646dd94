"""The figures of the README are those of the result files; its pictures are what scripts draw."""

from __future__ import annotations

import html
import json
import re
import shlex
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripts.make_animation import EXAMPLES, SESSION, drawn, lines_of
from scripts.make_badges import drawn as badge_drawn
from scripts.make_badges import said
from scripts.make_loop_picture import COLOURS
from scripts.make_loop_picture import drawn as loop_drawn
from scripts.make_one_pass_picture import asked, pictures

import thisthat
from tests.test_commands import found_command, refused
from tests.test_docs import alike, copied
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


def split(name: str, of: str = "decisions-decisions_dev") -> tuple[float, float, int]:
    """Accuracy, chance and number of questions of the dev file's seen or held-out tasks."""
    found = next(each for each in groups(of, "split") if each["name"] == name)
    return found["right"] / found["questions"], found["chance"], found["questions"]


def cells_of(row: str) -> list[str]:
    return [cell.strip().replace("*", "") for cell in row.strip("|").split("|")]


def row(beginning: str) -> list[str]:
    """The cells of the README's row that begins so."""
    found = [each for each in README.splitlines() if each.startswith(f"| {beginning}")]
    assert len(found) == 1, beginning
    return cells_of(found[0])


def table(beginning: str) -> list[list[str]]:
    """The cells of every row below the heading that begins so."""
    rows = README[README.index(f"| {beginning}") :].partition("\n\n")[0].splitlines()
    return [cells_of(each) for each in rows[2:]]


@pytest.mark.parametrize(
    ("beginning", "name"),
    [("7,511 new rows", "seen_task"), ("6,313 rows of public tasks", "heldout_task")],
)
def test_public_tasks(beginning: str, name: str) -> None:
    right, chance, questions = split(name)
    cells = row(beginning)
    large, *same = split(name, "decisions-large")
    assert same == [chance, questions]
    assert cells[1:4] == [f"{right:.3f}", f"{large:.3f}", f"{chance:.3f}"]
    assert cells[0].startswith(f"{questions:,} ")


def test_the_nearest_option_of_unseen_public_tasks() -> None:
    beside, *asked = split("heldout_task", "decisions-minilm")
    assert asked == [*split("heldout_task")[1:]]
    cells = row("6,313 rows of public tasks")
    assert cells[4] == f"all-MiniLM-L6-v2, nearest option: {beside:.3f}"


@pytest.mark.parametrize("kind", ["boolean", "choice", "score"])
def test_written_tasks(kind: str) -> None:
    cells = row(f"unseen written tasks: {kind}s")
    assert cells[1] == f"{line('written', f'accuracy, {kind}'):.3f}"
    chance = {each["name"]: each["chance"] for each in groups("written", "kind")}
    assert cells[3] == f"{chance[kind]:.3f}"
    kinds = {f"{task.domain}.{task.name}": task.kind for task in read_tasks(ROOT / "data/branches")}
    ours = {each["name"]: each for each in groups("written", "task")}
    assert f"the {len(ours)} held-out written tasks of 0.6.0" in " ".join(README.split())

    def on_the_same_tasks(name: str) -> float:
        shared = [
            each
            for each in groups(name, "task")
            if each["name"] in ours and kinds[each["name"]] == kind
        ]
        assert sum(each["questions"] for each in shared) == sum(
            each["questions"] for name, each in ours.items() if kinds[name] == kind
        )
        return sum(each["right"] for each in shared) / sum(each["questions"] for each in shared)

    assert cells[2] == f"{on_the_same_tasks('written-large'):.3f}"
    beside = on_the_same_tasks("written-minilm")
    assert cells[4] == f"all-MiniLM-L6-v2, nearest option: {beside:.3f}"


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
    labels, _ = what.split(", ")
    assert cells[3] == f"{line('teach', f'{labels}: chance'):.3f}"
    told = re.findall(r"[\d.]+(?=[,;]|$)", cells[4])
    systems = ("TF-IDF", "MiniLM", "zero-shot")
    assert told == [f"{line('teach', f'{what}: {system}'):.3f}" for system in systems]


def test_rules_and_calibration() -> None:
    anchors = json.loads((ROOT / "src/thisthat_lab/bench/anchors.json").read_text())["values"]
    cells = row("branch-shaped rules")
    assert cells[1] == f"{line('branch', 'accuracy'):.3f}"
    assert cells[2] == f"{line('branch-large', 'accuracy'):.3f}"
    assert cells[3] == f"{line('branch', 'chance'):.3f}"
    published = anchors["branch.accuracy"]
    for value in (published["paper"], *published["others"].values()):
        assert str(value) in cells[4]
    steps = groups("branch", "arithmetic steps")
    cells = row("arithmetic of two to four steps")
    assert [each["name"] for each in steps] == ["2", "3", "4"]
    assert cells[1] == f"{line('branch', 'arithmetic'):.3f}"
    assert cells[2] == f"{line('branch-large', 'arithmetic'):.3f}"
    asked = sum(each["questions"] for each in steps)
    assert cells[3] == f"{sum(each['chance'] * each['questions'] for each in steps) / asked:.3f}"
    assert sum(each["right"] for each in steps) / asked == line("branch", "arithmetic")
    published = anchors["branch.arithmetic"]
    for value in (published["paper"], *published["others"].values()):
        assert str(value) in cells[4]
    errors = {
        which: tuple(
            f"{line(name, f'ECE, 15 bins{part}'):.3f}"
            for name, part in (
                (decisions, ": heldout_task (n = 6313)"),
                (written, ""),
                (decisions, ": seen_task (n = 7511)"),
            )
        )
        for which, decisions, written in (
            ("default", "decisions-decisions_dev", "written"),
            ("large", "decisions-large", "written-large"),
        )
    }
    public, ours, familiar = errors["default"]
    assert (
        f"The default's expected calibration error is {public} on unseen public tasks, {ours} on "
        f"unseen written ones, {familiar} on tasks it was trained on; the large one's is "
        "{}, {} and {}.".format(*errors["large"])
    ) in " ".join(README.split())


LATENCIES = table("one decision, milliseconds")
# What the README calls a workload, and what result files do.
WORKLOADS = {
    "a boolean, 60 tokens": "one boolean, 60 tokens, cold",
    "four questions, 200 tokens, kept schema": (
        "triage, 4 questions, 200 tokens, schema-first together, warm"
    ),
    "one question, 256 tokens": "1 question, 256 tokens",
}
ON_A_GPU = {"one question, 256 tokens": "135 M default: 1 × 256 tokens, one question"}


def medians(found: dict[str, Any], workload: str) -> list[float]:
    """Of our engine, transformers and llama.cpp; 0 where a system was not timed."""
    lines = {each["label"]: float(each["value"]) for each in found["lines"]}
    p50 = {
        each["system"]: float(each["p50"])
        for each in found["timings"]
        if each["workload"] == workload
    }
    alone = [value for label, value in lines.items() if is_median(label, workload)]
    systems = ("(a)", ") transformers", ") llama.cpp")
    every = [[value for name, value in p50.items() if system in name] for system in systems]
    every[0] = every[0] or alone
    return [values[0] if values else 0 for values in every]


def is_median(label: str, workload: str) -> bool:
    return re.fullmatch(rf"{re.escape(workload)}( \(n = \d+\))?: p50", label) is not None


@pytest.mark.parametrize("cells", LATENCIES, ids=lambda cells: cells[0][:60])
def test_a_latency_is_that_of_the_file_it_links_to(cells: list[str]) -> None:
    words, path = re.fullmatch(r"(.+), \[.+\]\(docs/results/(.+)\.json\)", cells[0]).groups()  # type: ignore[union-attr]
    found = result(path)
    workload = (ON_A_GPU if found["measurement"] == "gpu" else WORKLOADS)[words]
    shown = [float(cell.replace(",", "") or 0) for cell in (cells[1], *cells[3:5])]
    assert shown == pytest.approx(medians(found, workload), rel=0.005)
    assert cells[2] == (found["system"]["version"] or "not recorded")


def test_each_latency_has_its_command() -> None:
    before = ""
    for cells in LATENCIES:
        name = re.search(r"docs/results/(.+)\.json", cells[0])
        assert name is not None
        before = before if cells[-1] == "the same" else cells[-1]
        assert before == "`" + re.sub(r" --out \S+", "", result(name[1])["command"]) + "`"


def test_published_latency_stands_beside_ours() -> None:
    anchors = json.loads((ROOT / "src/thisthat_lab/bench/anchors.json").read_text())["values"]
    published = anchors["latency.milliseconds"]
    low, high, fastest, slowest = (
        published["others"][each]
        for each in ("Jev, stated low", "Jev, stated high", "hosted, fastest", "hosted, slowest")
    )
    told = f"[a] {published['paper']}; [b] {low} to {high}; [c] {fastest} to {slowest:,}"
    for cells in LATENCIES:
        assert cells[5] == (told if cells[0].startswith("one question, 256 tokens") else "")


def test_the_first_page_of_the_site_shows_rows_of_the_readme() -> None:
    page = (ROOT / "docs" / "site" / "index.md").read_text(encoding="utf-8")
    rows = [each for each in page.splitlines() if each.startswith("|")]
    assert len(rows) > 12
    known = re.sub(r"\[([^\]]+)\]\(docs/results/[^)]+\)", r"\1", README).splitlines()
    assert [each for each in rows if each not in known] == []


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


def lines_in(text: str, language: str) -> list[str]:
    """Lines of its blocks, without comments."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [re.sub(r"\s+#.*", "", each) for block in blocks for each in block.splitlines()]


def test_what_teaches_is_run_by_a_page() -> None:
    """Bash blocks of pages run in test_docs.py."""
    pages = sorted((ROOT / "docs").glob("*.md"))
    texts = [page.read_text(encoding="utf-8") for page in pages]
    run = {copied(each) for text in texts for each in lines_in(text, "bash")}
    shown = README[README.index("## Teach it your own decision") : README.index("## And keep it")]
    lines = lines_in(shown, "sh")
    assert len(lines) >= 3
    assert [each for each in lines if copied(each) not in run] == []


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
    assert list(in_the_animation(text)) == SESSION
    assert text == drawn(list(in_the_animation(text).items()))
    again = drawn([("thisthat ask <x>", ["a & b"]), ("thisthat ask y", ["c"])])
    assert in_the_animation(again) == {"thisthat ask <x>": ["a & b"], "thisthat ask y": ["c"]}
    moving = [line for line in again.splitlines() if "animation:k" in line]
    assert list(in_the_animation("\n".join(moving)).items()) == [("thisthat ask y", ["c"])]


def in_the_animation(text: str) -> dict[str, list[str]]:
    """Every command, and what is shown below it."""
    found: dict[str, list[str]] = {}
    for kind, line in re.findall(r'<text class="(c|o)"[^>]*>([^<]*)<', text):
        said = html.unescape(line).replace("\xa0", " ")
        if kind == "c":
            found[said.removeprefix("$ ")] = lines = []
        else:
            lines.append(said)
    return found


def without_bars(lines: list[str]) -> str:
    return re.sub("█+", "", "\n".join(lines))


@pytest.mark.weights
@pytest.mark.parametrize("command", [each for each in SESSION if "thisthat ask" in each])
def test_the_animation_shows_what_the_program_prints(command: str) -> None:
    text = (ROOT / "docs" / "pictures" / "session.svg").read_text(encoding="utf-8")
    thisthat = shlex.quote(str(Path(sys.executable).with_name("thisthat")))
    said = lines_of(command, EXAMPLES, thisthat)
    assert alike(without_bars(in_the_animation(text)[command]), without_bars(said))


def test_the_animation_teaches_as_the_start_page_does() -> None:
    """Its block runs in test_docs.py."""
    text = (ROOT / "docs" / "pictures" / "session.svg").read_text(encoding="utf-8")
    (taught,) = [lines for command, lines in in_the_animation(text).items() if " teach " in command]
    page = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    printed = re.search(r"^refund: 110 labelled.*?^checkpoint in mine[^\n]*", page, re.M | re.S)
    assert printed is not None
    assert alike(printed[0], "\n".join(taught))
