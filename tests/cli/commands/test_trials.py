"""The circle by its commands: evaluate, shadow, canary, promote, rollback, history, report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.commands.test_loop import RUNNER, refused, run
from tests.teach.conftest import parent, taught
from tests.teach.small import RED, STATES
from thisthat.audit.log import DecisionLog
from thisthat.cli import app
from thisthat.decide.opening import open_decider
from thisthat.decide.policy import Policy
from thisthat.loop.outcomes import Outcome, record
from thisthat.loop.registry import Pointed, Registry
from thisthat.teach.light import Taught

__all__ = ["parent", "taught"]


@pytest.fixture
def log(parent: Path, tmp_path: Path) -> str:
    """What the parent answered, and what was right."""
    path = tmp_path / "log.sqlite"
    with (
        open_decider(parent, engine="onnx", threads=1) as decider,
        DecisionLog(path, keep_states=True) as decider.log,
    ):
        for number, state in enumerate(STATES):
            decider.decide(state, {"red": RED}, request_id=f"r{number}")
    outcomes = [
        Outcome(request=f"r{n}", question="red", option="yes" if "red" in state else "no")
        for n, state in enumerate(STATES)
    ]
    record(path, outcomes)
    return str(path)


@pytest.fixture
def registry(parent: Path, taught: Taught, tmp_path: Path) -> str:
    folder = str(tmp_path / "registry")
    assert "is the champion" in run("loop", "promote", str(parent), "--registry", folder)
    return folder


def schema(tmp_path: Path) -> str:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps({"red": "Is it red?"}))
    return str(path)


def test_a_taught_candidate_is_evaluated_against_the_champion(
    log: str, registry: str, taught: Taught, tmp_path: Path
) -> None:
    asked = ["loop", "evaluate", str(taught.folder), "--log", log, "--schema", schema(tmp_path)]
    asked += ["--registry", registry, "--mature", "0s", "--engine", "onnx"]
    done = RUNNER.invoke(app, asked)
    assert "paired replay of 60 decisions" in done.stdout
    mark = "better, on decisions that taught it (60 of 60)"
    assert done.stdout.splitlines()[-1] == mark
    told = re.search(r"--since (\S+) leaves them out and keeps 0$", done.stderr, re.MULTILINE)
    assert f"warning: 60 of these 60 decisions taught {taught.folder}, which" in done.stderr
    assert told is not None
    assert run("loop", "history", "--registry", registry).rstrip().endswith(f": {mark}")
    later = run(*asked, "--since", told[1])
    assert later.splitlines()[-1] == "cannot tell"
    [version] = [each for each in Registry(Path(registry)).now().versions.values() if each.parent]
    assert version.evaluations[0]["verdict"] == "better"
    assert version.evaluations[0]["taught"]["decisions"] == 60
    assert version.evaluations[1]["taught"] is None
    assert version.data is not None
    assert json.loads(run(*asked, "--json"))["replay"]["rows"] == 60
    first = Registry(Path(registry)).now().versions[version.parent or ""].reference
    back = ["loop", "evaluate", first, *asked[3:7], "--champion", str(taught.folder)]
    done = RUNNER.invoke(app, [*back, "--mature", "0s", "--engine", "onnx", "--json"])
    assert done.exit_code == 1, done.output
    assert json.loads(done.stdout)["verdict"] == "worse"
    prices = tmp_path / "costs.json"
    prices.write_text(json.dumps({"green": {}}))
    assert "costs.green: is not a question" in refused(*asked, "--costs", str(prices))


def test_canaries_start_and_end_and_a_champion_comes_back(
    registry: str, taught: Taught, log: str, tmp_path: Path
) -> None:
    at = ("--registry", registry)
    told = run("loop", "canary", str(taught.folder), *at, "--lambda", "0.5", "--ramp", "0.2@100")
    assert told.startswith("canary-")
    assert "5.0% of the units" in told
    assert "being tried already" in refused("loop", "shadow", str(taught.folder), *at)
    assert "has not shown" in refused("loop", "promote", *at)
    page = tmp_path / "report.html"
    assert run("loop", "report", *at, "--log", log, "-o", str(page), "--mature", "0s")
    html = page.read_text()
    assert "No outcome has come yet." in html
    assert "<svg" in html
    assert "<script" not in html
    name = told.partition(":")[0]
    assert f"there are: {name}" in refused("loop", "rollback", "canary-99", *at)
    assert run("loop", "rollback", *at) == f"{name} has ended\n"
    assert "none runs" in refused("loop", "rollback", *at)
    assert "not being tried" in refused("loop", "promote", str(taught.folder), *at)
    made = run("loop", "promote", str(taught.folder), *at, "--force", "--lambda", "0.5")
    assert f" ({taught.folder}) is the champion; policies" in made
    version = made.split()[1]
    assert Registry(Path(registry)).now().champions[-1] == Pointed(version, 0.5)
    again = run("loop", "rollback", *at, "--champion")
    assert re.fullmatch(r"version \S+ \(.*parent\) is the champion again\n", again)
    assert "no version before" in refused("loop", "rollback", *at, "--champion")
    lines = run("loop", "history", *at).splitlines()
    kinds = ["registered", "pointed", "registered", "started", "ended", "pointed", "pointed"]
    assert [line.split()[3] for line in lines] == kinds
    about = [line.partition(": ")[2] for line in lines]
    assert about[3:] == [
        f"{name}, 5.0% of the units",
        f"{name}, by hand",
        "champion, λ = 0.5",
        "champion again, by hand",
    ]
    assert Path(about[0]).name == "parent"
    assert json.loads(run("loop", "history", *at, "--json").splitlines()[-1])["facts"]["back"]


def test_a_policy_is_certified_again_for_the_new_champion(
    registry: str, taught: Taught, parent: Path, tmp_path: Path
) -> None:
    rows = [{"state": state, "answers": {"red": "red" in state}} for state in STATES * 4]
    for number, row in enumerate(rows):
        row["state"] = f"{row['state']} {number}"
    labels, old, new = (tmp_path / name for name in ("rows.jsonl", "old.json", "new.json"))
    labels.write_text("\n".join(map(json.dumps, rows)))
    known = ["--schema", schema(tmp_path)]
    run(
        *["threshold", "fit", str(labels), *known, "--target", "error<=0.7"],
        *["--checkpoint", str(parent), "-o", str(old)],
    )
    asked = ["loop", "promote", str(taught.folder), "--registry", registry, "--force"]
    assert "needs --labels" in refused(*asked, "--policy", str(old))
    more = ["--policy", str(old), "--labels", str(labels), *known, "-o", str(new)]
    taught_by = tmp_path / "taught.jsonl"
    taught_by.write_text(
        "\n".join(json.dumps({"state": s, "answers": {"red": "red" in s}}) for s in STATES)
    )
    again = ["--policy", str(old), "--labels", str(taught_by), *known, "-o", str(new)]
    assert "taught.jsonl: these labels taught" in refused(*asked, *again)
    assert not new.exists()
    assert "certified again" in run(*asked, *more)
    fitted = Policy.load(new)
    assert fitted.target == Policy.load(old).target
    assert fitted.conditions.version == Registry(Path(registry)).now().champion
    assert fitted.conditions.version != Policy.load(old).conditions.version


def test_bad_input_changes_nothing(registry: str, taught: Taught, log: str, tmp_path: Path) -> None:
    before = (Path(registry) / "registry.jsonl").read_bytes()
    at = (str(taught.folder), "--registry", registry)
    for more, message in (
        (("--share", "0"), "share: must be above 0"),
        (("--lambda", "0"), "0 is the champion itself"),
        (("--ramp", "soon"), "--ramp: 'soon' is not"),
        (("--margin", "2"), "margin"),
        (("--alpha", "0"), "alpha"),
    ):
        assert message in refused("loop", "canary", *at, *more)
    assert "not being tried" in refused("loop", "promote", *at)
    asked = ["loop", "evaluate", *at, "--log", log, "--schema", schema(tmp_path)]
    prices = tmp_path / "costs.json"
    for wrong, field in (([], "costs"), ({"red": 5}, "costs.red"), ({"red": {"no": 1}}, "red.no")):
        prices.write_text(json.dumps(wrong))
        assert f"{field}: must be an object" in refused(*asked, "--costs", str(prices))
    assert "margin: must be from 0 to below 1" in refused(*asked, "--margin", "2")
    assert (Path(registry) / "registry.jsonl").read_bytes() == before
    empty = tmp_path / "empty"
    for wrong in (("canary", str(taught.folder)), ("rollback",), ("history",)):
        told = refused("loop", *wrong, "--registry", str(empty))
        assert told.startswith(f"registry: {empty}: there is none")
    assert "no candidate" in refused("loop", "promote", "--registry", str(empty))
    assert not empty.exists()


def test_one_that_was_taught_on_another_is_refused_and_not_registered(
    registry: str, taught: Taught, parent: Path, tmp_path: Path
) -> None:
    folder = str(tmp_path / "turned")
    run("loop", "promote", str(taught.folder), "--registry", folder)
    before = (tmp_path / "turned" / "registry.jsonl").read_bytes()
    told = refused("loop", "canary", str(parent), "--registry", folder)
    assert told.startswith("parent: ")
    assert "not on the champion" in told
    assert (tmp_path / "turned" / "registry.jsonl").read_bytes() == before
