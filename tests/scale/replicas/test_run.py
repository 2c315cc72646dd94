"""Two replicas on Ray Serve, asked over HTTP as users ask."""

import os
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from tests.scale.replicas.support import LambdaPlan, lambda_decider, question, skewed
from thisthat.audit.store import open_store
from thisthat.cli import app
from thisthat.errors import InvalidInputError
from thisthat.questions_json import questions_from_json
from thisthat.scale.ray import DEFAULTS
from thisthat.scale.replicas.run import NAME, application, build
from thisthat.serve.settings import Settings

ray = pytest.importorskip("ray")
ADMIN = {"authorization": "Bearer admin"}
PORT = 8317 + os.getpid() % 1000
BODY = 100_000
URL = f"http://127.0.0.1:{PORT}"


@pytest.fixture(scope="module")
def log_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("replicas") / "log.sqlite"


@pytest.fixture(scope="module", autouse=True)
def replicas(log_file: Path) -> Iterator[None]:
    from ray import serve

    os.environ.update(DEFAULTS)
    ray.init(
        num_cpus=2,
        object_store_memory=200 << 20,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
    )
    serve.start(http_options={"host": "127.0.0.1", "port": PORT})
    settings = Settings(body_bytes=BODY, admin_keys=("admin",), drain_seconds=5.0)
    plan = LambdaPlan(settings, {}, str(log_file), True, "error")
    serve.run(application(plan, replicas=2), name=NAME)
    yield
    serve.shutdown()
    ray.shutdown()


def ask(client: httpx.Client, schema: int, state: str = "a state") -> httpx.Response:
    body = {"state": state, "questions": question(schema)}
    return client.post("/v1/systemone", json=body, timeout=30)


def answer_of(response: httpx.Response) -> dict[str, Any]:
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def expected(schema: int, lam: float) -> float:
    questions = questions_from_json(question(schema))
    answer = lambda_decider("default", lam).decide("a state", questions).answers["q"]
    return answer.probabilities["yes"]


def reload(**body: Any) -> httpx.Response:
    return httpx.post(f"{URL}/admin/reload", json=body, headers=ADMIN, timeout=60)


def pids() -> set[int]:
    """The replicas' processes, by the names that Ray gives them."""
    found = set()
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if each.read_bytes().startswith(b"ray::ServeReplica:thisthat:Replica"):
                found.add(int(each.parent.name))
    return found


def test_skewed_schemas_are_found_kept_and_no_replica_has_most() -> None:
    kept = 0
    asked = skewed(800)
    with httpx.Client(base_url=URL) as client:
        before = work(client)
        for number in asked:
            kept += answer_of(ask(client, number))["usage"]["cached_tokens"] > 0
        time.sleep(1.5)
        after = work(client)
    done = Counter(after)
    done.subtract(before)
    assert kept / len(asked) >= 0.95
    assert sum(done.values()) == len(asked)
    assert max(done.values()) / len(asked) <= 0.65


def work(client: httpx.Client) -> dict[str, int]:
    found = {}
    for line in client.get("/metrics").text.splitlines():
        if (
            line.startswith('thisthat_requests_total{path="/v1/systemone"')
            and 'status="200"' in line
        ):
            found[line.partition('replica="')[2].partition('"')[0]] = int(float(line.split()[-1]))
    return found


def test_it_answers_as_the_library_does() -> None:
    with httpx.Client(base_url=URL) as client:
        answer = answer_of(ask(client, 3))
        response = client.get("/readyz")
        missing = client.get("/nowhere")
        wrong = client.post("/v1/systemone", json={"questions": 3})
    assert answer["answers"]["q"]["noul"] == expected(3, response.json()["lambda"])
    assert response.headers.get_list("x-request-id") == [response.headers["x-request-id"]]
    assert missing.status_code == 404
    assert wrong.status_code == 422
    big = httpx.post(f"{URL}/v1/systemone", content=b" " * (BODY + 1), timeout=60)
    assert (big.status_code, big.json()["code"]) == (413, "body_too_large")
    body = {"states": ["a", "b", "c"], "questions": question(1)}
    lines = httpx.post(f"{URL}/v1/decide", json=body, timeout=60).text.splitlines()
    assert len(lines) == 3


def test_the_log_knows_a_request_by_the_id_that_ray_gave_it(log_file: Path) -> None:
    with httpx.Client(base_url=URL) as client:
        given = ask(client, 5).headers["x-request-id"]
        body = {"state": "a state", "questions": question(5)}
        own = client.post("/v1/systemone", json=body, headers={"x-request-id": "mine-1"})
    assert own.headers["x-request-id"] == "mine-1"
    for each in (given, "mine-1"):
        arguments = ["log", "query", str(log_file), "--client", each]
        found = CliRunner().invoke(app, arguments)
        assert found.exit_code == 0, found.output
        assert len(found.output.splitlines()) == 1


def test_a_reload_is_on_all_or_none_and_no_answer_mixes(tmp_path: Path) -> None:
    assert reload(**{"lambda": 0.25}).json()["lambda"] == 0.25
    seen: list[tuple[float, float]] = []
    stop = threading.Event()

    def load() -> None:
        with httpx.Client(base_url=URL) as client:
            while not stop.is_set():
                found = answer_of(ask(client, 0))
                seen.append((found["lambda"], found["answers"]["q"]["noul"]))

    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(load) for _ in range(3)]
        time.sleep(0.5)
        assert reload(**{"lambda": 0.75}).json()["lambda"] == 0.75
        count = len(seen)
        time.sleep(0.5)
        stop.set()
        for each in running:
            each.result()
    known = {lam: expected(0, lam) for lam in (0.25, 0.75)}
    assert all(known[lam] == p for lam, p in seen)
    assert seen[0][0] == 0.25
    # What was asked before the reload was reported may still be under way.
    assert {lam for lam, _ in seen[count + 3 :]} == {0.75}
    for ref, fault in (("bad", "bad: is not there"), (f"half:{tmp_path / 'once'}", "fails once")):
        failed = reload(checkpoint=ref)
        assert failed.status_code == 409
        assert "no replica switched: replica " in failed.text
        assert fault in failed.text
    with httpx.Client(base_url=URL) as client:
        answers = [answer_of(ask(client, n)) for n in range(12)]
    assert {(each["checkpoint"], each["lambda"]) for each in answers} == {("default", 0.75)}
    without = httpx.post(f"{URL}/admin/reload", json={"lambda": 0.1}, timeout=30)
    assert without.status_code in (401, 403)


def test_a_killed_replica_loses_nothing_of_the_other_and_comes_back(log_file: Path) -> None:
    results: list[tuple[float, int, str, str]] = []
    stop = threading.Event()

    def load(seed: int) -> None:
        with httpx.Client(base_url=URL) as client:
            for number in skewed(100_000, seed=seed):
                if stop.is_set():
                    return
                found = ask(client, number)
                retry = found.headers.get("retry-after-ms", "")
                request = found.headers.get("x-typesafe-request-id", "")
                results.append((time.monotonic(), found.status_code, retry, request))

    before = pids()
    assert len(before) == 2
    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(load, seed) for seed in range(4)]
        time.sleep(1.0)
        killed = time.monotonic()
        os.kill(min(before), 9)
        while len(now := pids()) < 2 or now == before:
            assert time.monotonic() - killed < 200
            time.sleep(0.2)
        time.sleep(1.0)
        stop.set()
        for each in running:
            each.result()
    statuses = Counter(status for _, status, _, _ in results)
    assert set(statuses) <= {200, 503}
    assert statuses[503] < statuses[200]
    assert all(retry for _, status, retry, _ in results if status == 503)
    # The new replica has the λ of the old one, and the log what any of them answered.
    with httpx.Client(base_url=URL) as client:
        lambdas = {answer_of(ask(client, n))["lambda"] for n in range(12)}
        assert lambdas == {client.get("/readyz").json()["lambda"]}
    logged = {line.request for line in open_store(log_file).read({}, None, None, None)}
    assert {request for _, status, _, request in results if status == 200} <= logged


def test_scaling_down_answers_what_was_accepted() -> None:
    from ray import serve

    settings = Settings(drain_seconds=20.0)
    with ThreadPoolExecutor(6) as pool, httpx.Client(base_url=URL) as client:
        running = [pool.submit(ask, client, n, "a slow state") for n in range(6)]
        time.sleep(0.5)
        plan = LambdaPlan(settings, log_level="error")
        serve.run(application(plan, replicas=1), name=NAME)
        assert [each.result().status_code for each in running] == [200] * 6


def test_a_deployment_file_names_what_it_does_not_know() -> None:
    with pytest.raises(InvalidInputError, match=r"replica: is not known; known are .*replicas"):
        build({"replica": 2})
    with urllib.request.urlopen(f"{URL}/healthz", timeout=20) as answer:
        assert answer.status == 200
    app = build({"checkpoint": "x", "replicas": 3, "keys_file": "keys", "aliases": ["a"]})
    assert app is not None
