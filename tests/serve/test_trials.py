"""Canaries and shadows in a server: who answers, what is on record, and how it ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.path_engine import PathEngine, path_decider
from tests.serve.support import on_loopback, service_for, until
from thisthat.audit.beside import ASSIGNMENTS, SHADOWS
from thisthat.audit.log import DecisionLog
from thisthat.audit.store import SQLiteStore
from thisthat.audit.verify import verify
from thisthat.decide.decider import Decider
from thisthat.engine.rows import Row, RowResult
from thisthat.errors import CheckpointError, InvalidInputError
from thisthat.loop.assignment_log import assignments
from thisthat.loop.experiment import Experiment
from thisthat.loop.registry import Registry
from thisthat.questions import Source
from thisthat.remote.unit_header import NAME as UNIT_HEADER
from thisthat.serve.service import Service
from thisthat.serve.settings import Settings
from thisthat.serve.trials import MOST_CANDIDATES, champion_of
from thisthat.temperature import Temperatures

ASKED = {"questions": {"lost": {"type": "noul", "instructions": "Is it lost?"}}}
CANARY = Experiment("", "canary", "two", "", 0.5, share=0.5)


class Failing(PathEngine):
    """Fails once it is warm."""

    broken = False

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        if self.broken:
            raise RuntimeError("no more")
        return super().run(rows)


def opened(ref: str, lam: float | None) -> Decider:
    """Checkpoints that differ by their temperatures, so that it shows who answered."""
    if ref == "broken":
        raise CheckpointError("broken: a tensor is missing")
    decider = path_decider(temperatures=Temperatures(default=1.0 if ref == "first" else 3.0))
    decider.source = Source(ref, "1", 1.0 if lam is None else lam)
    if ref == "failing":
        decider.engine = Failing()
    return decider


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return registry_in(tmp_path)


def registry_in(folder: Path) -> Registry:
    """A champion, a candidate that answers otherwise, one that fails and one that cannot open."""
    made = Registry(folder / "registry")
    made.register("one", "first", "a", by="ann")
    for name, ref in (("two", "second"), ("three", "failing"), ("four", "broken")):
        made.register(name, ref, ref, by="ann", parent="one")
    made.point("champion", "one", "ann", "the first")
    return made


def service_of(registry: Registry, keep_states: bool = False, **settings: Any) -> Service:
    path = registry._path.parent.parent / "log.sqlite"
    log = DecisionLog(path, keep_states=keep_states, wait=True)
    settings = {"allowed_hosts": ("*",), "admin_keys": ("adm",), **settings}
    ref, champion = champion_of(registry)
    chosen = Settings(port=0, checkpoint=ref, lam=champion.lam, **settings)
    return Service(chosen, opened, None, log, registry)


@contextmanager
def serving(registry: Registry, **settings: Any) -> Iterator[tuple[Service, httpx.Client]]:
    service = service_of(registry, **settings)
    with on_loopback(service) as address, httpx.Client(base_url=address, timeout=30) as client:
        yield service, client


def ask(client: httpx.Client, number: int, **headers: str) -> tuple[str, str, float]:
    """Who answered, the request's id and the probability."""
    body = {"state": f"parcel {number}", **ASKED}
    answered = client.post("/v1/systemone", json=body, headers=headers).raise_for_status()
    found = answered.json()
    return found["checkpoint"], answered.headers["x-request-id"], found["answers"]["lost"]["noul"]


def tell(client: httpx.Client, *outcomes: dict[str, Any]) -> None:
    client.post("/v1/outcomes", json={"outcomes": list(outcomes)}).raise_for_status()


def store_of(registry: Registry) -> SQLiteStore:
    return SQLiteStore(registry._path.parent.parent / "log.sqlite")


def begin(registry: Registry, service: Service, tried: Experiment = CANARY) -> Experiment:
    begun = registry.start(tried, "ann")
    until(lambda: any(each.experiment.name == begun.name for each in service.trials.running))  # type: ignore[union-attr]
    return begun


def test_a_share_of_the_units_gets_the_candidate_and_it_is_on_record(registry: Registry) -> None:
    with serving(registry) as (service, client):
        assert {ask(client, number)[0] for number in range(5)} == {"first"}
        begun = begin(registry, service)
        answers = [ask(client, number) for number in range(60)]
        counts = [sum(each[0] == name for each in answers) for name in ("first", "second")]
        assert min(counts) >= 15
        sticky = {ask(client, number, **{UNIT_HEADER: "customer 7"})[0] for number in range(9)}
        assert len(sticky) == 1
        for name, _, probability in answers:
            assert name in ("first", "second")
            assert 0 < probability < 1
    rows = {each.request: each for each in assignments(store_of(registry), begun.name)}
    assert len(rows) == 69
    for name, request, _ in answers:
        assert rows[request].arm == ("candidate" if name == "second" else "champion")
        assert (rows[request].share, rows[request].propensity) == (0.5, 0.5)
        assert rows[request].lam == (0.5 if name == "second" else 1.0)
    assert not any("customer" in each.unit for each in rows.values())


def test_harm_rolls_back_at_once_and_on_every_server(registry: Registry) -> None:
    with serving(registry) as (service, client), serving(registry) as (other, second):
        before = [ask(client, number)[2] for number in range(20)]
        begun = begin(registry, service)
        until(lambda: other.trials is not None and other.trials.running)
        number = 0
        while service.trials is not None and service.trials.running:
            number += 1
            asked = client if number % 2 else second
            who, request, _ = ask(asked, number)
            outcome = {"request": request, "question": "lost"}
            said = store_of(registry).read({"request": request})
            best = next(iter(said)).best
            right = best if who == "first" else ("no" if best == "yes" else "yes")
            tell(client, {**outcome, "option": right})
            assert number < 300
        # The very next decision is the champion's, bit for bit; soon the other server's, too.
        assert [ask(client, number)[2] for number in range(20)] == before
        assert {ask(client, number)[0] for number in range(20)} == {"first"}
        until(lambda: not other.trials.running)  # type: ignore[union-attr]
        assert [ask(second, number)[2] for number in range(20)] == before
    [ended] = [event for event in registry.history() if event.what == "ended"]
    assert (ended.by, ended.reason) == ("server", "roll back")
    assert ended.facts["harm"] >= ended.facts["bound"] == 20
    assert ended.facts["candidate"]["mean"] == 0
    report = verify(store_of(registry))
    assert report.whole
    assert [note for note in report.notes if f"{begun.name} (two) ended: roll back" in note]


def test_a_good_candidate_ramps_is_ready_and_is_promoted_without_a_gap(registry: Registry) -> None:
    tried = replace(CANARY, ramp=((0.8, 10),), margin=0.2)
    with serving(registry) as (service, client):
        begun = begin(registry, service, tried)
        for number in range(200):
            who, request, _ = ask(client, number)
            outcome = {"request": request, "question": "lost"}
            tell(client, {**outcome, "reward": 1.0 if who == "second" else 0.5})
            if registry.now().running[begun.name].ready:
                break
        assert registry.now().running[begun.name].share == 0.8
        ramped = [event for event in registry.history() if event.what == "ramped"]
        assert len(ramped) == 1
        registry.point("champion", "two", "ann", "not worse", lam=0.5)
        until(lambda: service.trials.running == ())  # type: ignore[union-attr]
        assert {ask(client, number)[0] for number in range(9)} == {"second"}
        registry.roll_back("ann", "second thoughts")
        until(lambda: ask(client, 1)[0] == "first")


def test_a_candidate_that_fails_costs_no_answer_and_is_stopped(registry: Registry) -> None:
    with serving(registry) as (service, client):
        begin(registry, service, replace(CANARY, version="three"))
        service.trials.running[0].decider.engine.broken = True  # type: ignore[union-attr, attr-defined]
        for number in range(300):
            assert ask(client, number)[0] == "first"
            if not service.trials.running:  # type: ignore[union-attr]
                break
        until(lambda: any(event.reason == "failures" for event in registry.history()))
        lines = client.post("/v1/decide", json={"states": ["a", "b"], **ASKED}).text.splitlines()
        assert len(lines) == 2
    assert list(store_of(registry).rows(ASSIGNMENTS, {"arm": "candidate"})) == []


def test_a_stream_falls_back_when_its_candidate_fails(registry: Registry) -> None:
    with serving(registry) as (service, client):
        begin(registry, service, replace(CANARY, version="three", share=0.99))
        service.trials.running[0].decider.engine.broken = True  # type: ignore[union-attr, attr-defined]
        answered = client.post("/v1/decide", json={"states": ["a", "b", "c"], **ASKED})
        found = [httpx.Response(200, text=line).json() for line in answered.text.splitlines()]
        assert [each["checkpoint"] for each in found] == ["first"] * 3
    assert {each.checkpoint for each in store_of(registry).read({})} == {"first"}
    assert list(store_of(registry).rows(ASSIGNMENTS, {"arm": "candidate"})) == []


def test_one_that_cannot_be_opened_is_never_tried(registry: Registry) -> None:
    with serving(registry) as (_, client):
        registry.start(replace(CANARY, version="four"), "ann")
        until(lambda: not registry.now().running)
        assert ask(client, 1)[0] == "first"
    assert "cannot be opened" in registry.history()[-1].reason


def test_few_candidates_are_open_and_later_ones_wait_for_their_turn(registry: Registry) -> None:
    names = []
    for number in range(MOST_CANDIDATES + 2):
        registry.register(f"v{number}", f"second {number}", str(number), by="ann", parent="one")
    with serving(registry) as (service, _):
        trials = service.trials
        assert trials is not None
        for number in range(MOST_CANDIDATES + 2):
            tried = Experiment("", "shadow", f"v{number}", "", None, share=0.1)
            names.append(registry.start(tried, "ann").name)

        def running() -> list[str]:
            return [each.experiment.name for each in trials.running]

        until(lambda: running() == names[:MOST_CANDIDATES])
        trials.look()
        assert not trials._opening
        assert len(trials._opened) == 1 + MOST_CANDIDATES
        registry.change("ended", names[0], "ann", "enough", {})
        until(lambda: running() == names[1 : MOST_CANDIDATES + 1])
        assert len(trials._opened) == 1 + MOST_CANDIDATES


def test_a_shadow_is_recorded_and_judged_but_never_answers(registry: Registry) -> None:
    tried = Experiment("", "shadow", "two", "", 0.5, share=1.0)
    with serving(registry) as (service, client):
        begun = begin(registry, service, tried)
        asked = [ask(client, number) for number in range(12)]
        assert {each[0] for each in asked} == {"first"}
        many = client.post("/v1/decide", json={"states": ["a", "b"], **ASKED})
        assert many.status_code == 200
        until(lambda: len(list(store_of(registry).rows(SHADOWS))) == 14)
        tell(client, *({"request": e[1], "question": "lost", "option": "yes"} for e in asked))
        numbers = service.trials.running[0].judge.numbers()  # type: ignore[union-attr]
        assert numbers["outcomes"] == 12
        # Temperatures do not change which option is best.
        assert numbers["candidate"] == numbers["champion"]
    for row in store_of(registry).rows(SHADOWS):
        assert row[1] == begun.name


def test_policies_and_chosen_lambdas_stay_with_the_champion(registry: Registry) -> None:
    with serving(registry) as (service, client):
        begin(registry, service, replace(CANARY, share=0.99))
        body = {"states": ["a"], **ASKED, "lambda": 1.0}
        for _ in range(5):
            [line] = client.post("/v1/decide", json=body).text.splitlines()
            assert '"checkpoint": "first"' in line


def test_a_registry_without_a_champion_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="--loop: names no champion"):
        champion_of(Registry(tmp_path))


def test_no_request_is_lost_while_a_canary_begins_and_ends(registry: Registry) -> None:
    with serving(registry) as (service, client):
        statuses: list[int] = []
        ends = threading.Event()

        def keep_asking() -> None:
            with httpx.Client(base_url=client.base_url, timeout=30) as own:
                while not ends.is_set():
                    body = {"state": "s", **ASKED}
                    statuses.append(own.post("/v1/systemone", json=body).status_code)

        threads = [threading.Thread(target=keep_asking) for _ in range(3)]
        for each in threads:
            each.start()
        for _ in range(3):
            begun = begin(registry, service)
            assert registry.change("ended", begun.name, "ann", "by hand", {})
            until(lambda: not service.trials.running)  # type: ignore[union-attr]
        until(lambda: len(statuses) > 20)
        ends.set()
        for each in threads:
            each.join()
    assert set(statuses) == {200}


def test_admins_see_the_loop_and_go_back_by_hand(registry: Registry) -> None:
    admin = {"authorization": "Bearer adm"}
    with serving(registry) as (service, client):
        assert client.get("/admin/loop").status_code == 401
        begun = begin(registry, service)
        for number in range(6):
            _, request, _ = ask(client, number)
            tell(client, {"request": request, "question": "lost", "option": "yes"})
        found = client.get("/admin/loop", headers=admin).raise_for_status().json()
        assert found["champion"] == {"version": "one", "lam": None}
        [tried] = found["running"]
        assert tried["numbers"]["outcomes"] == 6
        assert len(tried["points"]) == 6
        assert found["counts"]["known"] == 6
        assert sum(each["decisions"] for each in found["periods"]) == 6
        assert found["questions"]["lost"]["outcomes"] == 6

        def act(**body: str) -> httpx.Response:
            return client.post("/admin/loop", json=body, headers=admin)

        assert act(do="dance").status_code == 422
        assert act(do="end").status_code == 422
        assert act(do="end", experiment="x", y="z").status_code == 422
        assert act(do="end", experiment="canary-99").status_code == 409
        assert act(do="promote").status_code == 409  # not shown to be not worse
        assert act(do="promote", version="/etc").status_code == 409
        assert act(do="roll back").status_code == 409  # no champion before
        assert act(do="end", experiment=begun.name).json()["running"] == []
        assert service.trials.running == ()  # type: ignore[union-attr]
        registry.point("champion", "two", "ann", "")
        until(lambda: ask(client, 1)[0] == "second")
        assert act(do="roll back", reason="no").json()["champion"] == "one"
        assert ask(client, 1)[0] == "first"
        assert client.post("/admin/reload", json={"lambda": 1}, headers=admin).status_code == 409
    assert (registry.history()[-1].by, registry.history()[-1].reason) == ("key 1", "no")


def test_without_a_registry_there_is_no_loop() -> None:
    with on_loopback(service_for(admin_keys=("adm",))) as address:
        answered = httpx.get(f"{address}/admin/loop", headers={"authorization": "Bearer adm"})
    assert answered.status_code == 409
    assert "start it with --loop" in answered.text
