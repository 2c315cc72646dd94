"""Keys, rates, ids, health, metrics, logs, traces, reload."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.serve.support import REQUEST, get, in_process, log_lines, opened, post, run, service_for
from thisthat.decide.decider import Decider
from thisthat.errors import InvalidInputError
from thisthat.serve.http.keys import RateLimit
from thisthat.serve.problems import Problem
from thisthat.serve.settings import Settings

SECRET = "sk-very-secret"


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_a_server_without_keys_takes_any() -> None:
    service = service_for()
    assert post(service, "/v1/systemone", REQUEST, headers=bearer("anything")).status_code == 200
    assert post(service, "/v1/systemone", REQUEST).status_code == 200


@pytest.mark.parametrize("path", ["/v1/systemone", "/v1/decide", "/v1/decisions", "/page/prompt"])
def test_unknown_keys_are_401(path: str) -> None:
    service = service_for(keys=("one", SECRET))
    for headers in ({}, bearer("two"), bearer(""), {"authorization": SECRET}, bearer("ön")):
        encoded = {name: value.encode() for name, value in headers.items()}
        answered = post(service, path, REQUEST, headers=encoded)
        assert answered.status_code == 401
        assert answered.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("key", ["one", SECRET])
def test_every_known_key_opens(key: str) -> None:
    service = service_for(keys=("one", SECRET))
    assert post(service, "/v1/systemone", REQUEST, headers=bearer(key)).status_code == 200
    assert get(service, "/v1/models", headers=bearer(key)).status_code == 200


def test_a_key_may_have_any_letters() -> None:
    service = service_for(keys=("schlüssel",))
    headers = {"authorization": "Bearer schlüssel".encode()}
    assert post(service, "/v1/systemone", REQUEST, headers=headers).status_code == 200


def test_health_needs_no_key() -> None:
    service = service_for(keys=(SECRET,))
    assert get(service, "/healthz").status_code == 200
    ready = get(service, "/readyz")
    assert ready.json() == {"status": "ready", "checkpoint": "paths", "version": "1", "lambda": 0.5}


def test_nothing_is_answered_before_the_checkpoint_is_loaded() -> None:
    service = service_for(load=False)
    assert get(service, "/healthz").status_code == 200
    for answered in (get(service, "/readyz"), post(service, "/v1/systemone", REQUEST)):
        assert answered.status_code == 503
        assert answered.json()["code"] == "loading"
        assert int(answered.headers["retry-after-ms"]) > 0


def test_a_draining_server_refuses_new_requests() -> None:
    service = service_for()
    service.draining = True
    for answered in (get(service, "/readyz"), post(service, "/v1/systemone", REQUEST)):
        assert answered.status_code == 503
        assert answered.headers["retry-after-ms"] == "1000"
        assert answered.headers["retry-after"] == "1"
        assert answered.headers["connection"] == "close"
    assert get(service, "/healthz").status_code == 200
    assert service.in_flight == 0


def test_a_rate_is_kept_for_each_caller() -> None:
    now = [0.0]
    rates = RateLimit(60, clock=lambda: now[0])
    for _ in range(10):
        rates.spend("a")
    with pytest.raises(Problem) as caught:
        rates.spend("a")
    assert caught.value.status == 429
    assert caught.value.retry_ms == 1000
    rates.spend("b")
    now[0] = 1.0
    rates.spend("a")
    with pytest.raises(Problem):
        rates.spend("a")


def test_too_many_requests_are_told_when_to_come_back() -> None:
    service = service_for(keys=("one", "two"), requests_per_minute=1)
    assert get(service, "/v1/models", headers=bearer("one")).status_code == 200
    refused = post(service, "/v1/systemone", REQUEST, headers=bearer("one"))
    assert refused.status_code == 429
    assert 0 < int(refused.headers["retry-after-ms"]) <= 60_000
    assert int(refused.headers["retry-after"]) * 1000 >= int(refused.headers["retry-after-ms"])
    assert post(service, "/v1/systemone", REQUEST, headers=bearer("two")).status_code == 200


@pytest.mark.parametrize("path", ["/v1/systemone", "/nowhere", "/healthz", "/metrics"])
def test_every_response_has_an_id_and_security_headers(path: str) -> None:
    answered = get(service_for(), path)
    assert re.fullmatch("[0-9a-f]{32}", answered.headers["x-request-id"])
    assert answered.headers["x-typesafe-request-id"] == answered.headers["x-request-id"]
    assert answered.headers["x-content-type-options"] == "nosniff"
    assert answered.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in answered.headers["content-security-policy"]
    assert "access-control-allow-origin" not in answered.headers


@pytest.mark.parametrize("path", ["/healthz", "/v1/models"])
def test_cors_is_off_unless_an_origin_is_named(path: str) -> None:
    asking = {"origin": "https://a.example"}
    assert "access-control-allow-origin" not in get(service_for(), path, headers=asking).headers
    service = service_for(cors_origins=("https://a.example",))
    allowed = get(service, path, headers=asking)
    assert allowed.headers["access-control-allow-origin"] == "https://a.example"
    other = get(service, path, headers={"origin": "https://b.example"})
    assert "access-control-allow-origin" not in other.headers


ORIGIN = "https://a.example"
ASKING = {"origin": ORIGIN}


@pytest.mark.parametrize(
    ("settings", "body", "status"),
    [
        ({"keys": (SECRET,)}, REQUEST, 401),
        ({"body_bytes": 10}, REQUEST, 413),
        ({}, {}, 422),
        ({"requests_per_minute": 0.1}, REQUEST, 429),
        ({"load": False}, REQUEST, 503),
        ({"header_count": 1}, REQUEST, 431),
    ],
)
def test_pages_of_a_named_origin_can_read_errors_too(
    settings: dict[str, Any], body: Any, status: int
) -> None:
    service = service_for(cors_origins=(ORIGIN,), **settings)
    answered = post(service, "/v1/systemone", body, headers=ASKING)
    if status == 429:
        answered = post(service, "/v1/systemone", body, headers=ASKING)
    assert answered.status_code == status
    assert answered.headers["access-control-allow-origin"] == ORIGIN
    exposed = answered.headers["access-control-expose-headers"].split(", ")
    assert {"x-request-id", "x-typesafe-request-id", "retry-after-ms", "retry-after"} < {*exposed}
    assert {"x-thisthat-checkpoint", "x-thisthat-conditions", "server-timing"} < {*exposed}
    assert answered.headers["x-typesafe-request-id"] == answered.headers["x-request-id"]


@pytest.mark.parametrize("settings", [{"keys": (SECRET,)}, {"load": False}])
def test_a_browser_may_ask_first_whether_it_may_ask(settings: dict[str, Any]) -> None:
    service = service_for(cors_origins=(ORIGIN,), **settings)
    wanted = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
    }

    async def preflight(origin: str) -> httpx.Response:
        async with in_process(service) as client:
            headers = {"origin": origin, **wanted}
            return await client.options("/v1/systemone", headers=headers)

    allowed = run(preflight(ORIGIN))
    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-origin"] == ORIGIN
    assert "authorization" in allowed.headers["access-control-allow-headers"]
    assert re.fullmatch("[0-9a-f]{32}", allowed.headers["x-request-id"])
    refused = run(preflight("https://b.example"))
    assert "access-control-allow-origin" not in refused.headers


def test_an_answer_says_how_long_its_decision_took() -> None:
    timing = post(service_for(), "/v1/systemone", REQUEST).headers["server-timing"]
    assert re.fullmatch(r"decide;dur=\d+\.\d\d", timing)


def test_a_log_line_has_the_id_and_neither_key_nor_state() -> None:
    service = service_for(keys=(SECRET,))
    with log_lines() as lines:
        answered = post(service, "/v1/systemone", REQUEST, headers=bearer(SECRET))
        post(service, "/v1/systemone", REQUEST, headers=bearer("sk-wrong"))
    good, bad = [line for line in lines if line["message"] == "request"]
    assert good["request_id"] == answered.headers["x-request-id"]
    assert (good["status"], good["caller"], good["checkpoint"]) == (200, "key 1", "paths")
    assert good["tokens"] > 0
    assert bad["error"] == "invalid_key"
    text = json.dumps(lines)
    assert SECRET not in text
    assert "sk-wrong" not in text
    assert "never came" not in text


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (b"order-1187 / retry 2", "order-1187 / retry 2"),
        (b"a" * 128, "a" * 128),
        (b"a" * 129, None),
        (b"", None),
        ("ü".encode(), None),
        (b"tab\there", None),
    ],
)
def test_a_clients_own_id_is_in_the_log_line_beside_ours(sent: bytes, kept: str | None) -> None:
    with log_lines() as lines:
        answered = post(service_for(), "/v1/systemone", REQUEST, headers={"x-request-id": sent})
    assert answered.status_code == 200
    assert re.fullmatch("[0-9a-f]{32}", answered.headers["x-request-id"])
    (line,) = [line for line in lines if line["message"] == "request"]
    assert line["request_id"] == answered.headers["x-request-id"]
    assert line.get("client_request_id") == kept


def test_states_are_logged_when_asked_for() -> None:
    service = service_for(log_states=True)
    with log_lines() as lines:
        post(service, "/v1/systemone", REQUEST)
    assert lines[0]["state"] == REQUEST["state"]


def test_an_unforeseen_error_is_a_500_without_a_trace() -> None:
    service = service_for()

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret detail")

    service.checkpoints.main().begin_many = fail  # type: ignore[method-assign]
    with log_lines() as lines:
        answered = post(service, "/v1/systemone", REQUEST)
    assert answered.status_code == 500
    assert "secret" not in answered.text
    assert "Traceback" not in answered.text
    assert answered.headers["x-request-id"] in answered.text
    traces = [line for line in lines if "secret detail" in line.get("exception", "")]
    assert [line["request_id"] for line in traces] == [answered.headers["x-request-id"]]
    page = get(service, "/metrics").text
    assert 'thisthat_errors_total{kind="internal"} 1.0' in page


def test_metrics_count_stages_batches_tokens_and_errors() -> None:
    service = service_for()
    post(service, "/v1/systemone", REQUEST)
    post(service, "/v1/systemone", {**REQUEST, "model": "nobody"})
    get(service, "/made/up/by/a/client")
    page = get(service, "/metrics").text
    for stage in ("queue", "tokenise", "prefill"):
        assert f'thisthat_stage_seconds_count{{stage="{stage}"}} 1.0' in page
    assert 'thisthat_stage_seconds_count{stage="total"} 3.0' in page
    assert "thisthat_batch_size_count 1.0" in page
    assert "thisthat_batch_tokens_count 1.0" in page
    assert 'thisthat_decisions_total{type="choice"} 3.0' in page
    assert 'thisthat_errors_total{kind="model_not_found"} 1.0' in page
    assert 'thisthat_requests_total{path="/v1/systemone",status="200"} 1.0' in page
    assert "made/up" not in page
    tokens = re.search(r'thisthat_input_tokens_total\{from="computed"\} (\d+)', page)
    assert tokens is not None
    assert int(tokens[1]) > 0


def test_prefixes_that_are_kept_show_in_the_answer_and_the_metrics() -> None:
    service = service_for()
    body = {"states": ["one", "two"], "questions": {"q": "Is it?"}, "layout": "schema-first"}
    lines = [json.loads(line) for line in post(service, "/v1/decide", body).text.splitlines()]
    assert lines[1]["usage"]["cached_tokens"] > 0
    assert 'thisthat_input_tokens_total{from="cache"}' in get(service, "/metrics").text


def test_reload_needs_an_admin_key() -> None:
    body = {"lambda": 1.0}
    assert post(service_for(), "/admin/reload", body).status_code == 403
    service = service_for(keys=("one",), admin_keys=("boss",))
    assert post(service, "/admin/reload", body, headers=bearer("one")).status_code == 403
    assert post(service, "/admin/reload", body, headers=bearer("boss")).status_code == 200


def test_reload_switches_lambda_or_checkpoint() -> None:
    service = service_for(admin_keys=("boss",))
    switched = post(service, "/admin/reload", {"lambda": 1.0}, headers=bearer("boss"))
    assert switched.json() == {"checkpoint": "paths", "version": "1", "lambda": 1.0}
    assert post(service, "/v1/systemone", REQUEST).json()["lambda"] == 1.0
    post(service, "/admin/reload", {"checkpoint": "other"}, headers=bearer("boss"))
    answered = post(service, "/v1/systemone", {**REQUEST, "model": "other"})
    assert answered.json()["model"] == "other"


def test_a_checkpoint_that_fails_to_load_leaves_the_old_one_serving() -> None:
    service = service_for(admin_keys=("boss",))
    failed = post(service, "/admin/reload", {"checkpoint": "broken"}, headers=bearer("boss"))
    assert failed.status_code == 409
    assert "tensor x is missing; the old checkpoint keeps serving" in failed.json()["detail"]
    assert post(service, "/v1/systemone", REQUEST).json()["model"] == "paths"


def test_whatever_opening_raises_leaves_the_old_checkpoint_serving() -> None:
    def open_decider(ref: str, lam: float | None) -> Decider:
        Path(ref).stat() if ref != "default" else None
        return opened(ref, lam)

    service = service_for(open_decider, admin_keys=("boss",))
    with log_lines() as lines:
        body = {"checkpoint": "x" * 5_000}
        failed = post(service, "/admin/reload", body, headers=bearer("boss"))
    assert failed.status_code == 409
    assert "raised OSError; the old checkpoint keeps serving" in failed.json()["detail"]
    assert post(service, "/v1/systemone", REQUEST).json()["model"] == "paths"
    number = failed.headers["x-request-id"]
    told = {line["message"]: line for line in lines if line.get("request_id") == number}
    assert "reload failed; the old checkpoint keeps serving" in told
    assert "File name too long" in told["unforeseen error"]["exception"]


def test_a_reload_is_logged_with_the_id_of_its_request() -> None:
    service = service_for(admin_keys=("boss",))
    with log_lines() as lines:
        done = post(service, "/admin/reload", {"lambda": 1.0}, headers=bearer("boss"))
    (line,) = [line for line in lines if line["message"] == "reloaded"]
    assert line["request_id"] == done.headers["x-request-id"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"lambda": 2},
        {"lambda": "1"},
        {"checkpoint": 1},
        {"checkpoint": ""},
        {"checkpoint": " "},
        {"x": 1},
    ],
)
def test_a_reload_that_makes_no_sense_is_422(body: Any) -> None:
    service = service_for(admin_keys=("boss",))
    assert post(service, "/admin/reload", body, headers=bearer("boss")).status_code == 422


def test_no_request_is_dropped_by_a_reload() -> None:
    service = service_for(admin_keys=("boss",), queue_tokens=1_000_000)

    async def scene() -> list[tuple[int, float]]:
        async with in_process(service) as client:

            async def ask(number: int) -> tuple[int, float]:
                state = f"state {number}"
                answered = await client.post("/v1/systemone", json={**REQUEST, "state": state})
                return answered.status_code, answered.json()["lambda"]

            async def reload(lam: float) -> None:
                body = {"lambda": lam}
                done = await client.post("/admin/reload", json=body, headers=bearer("boss"))
                assert done.status_code == 200

            asked = [asyncio.ensure_future(ask(number)) for number in range(40)]
            await reload(0.25)
            asked += [asyncio.ensure_future(ask(number)) for number in range(40)]
            await reload(0.75)
            return await asyncio.gather(*asked)

    seen = run(scene())
    assert {status for status, _ in seen} == {200}
    assert {lam for _, lam in seen} <= {0.5, 0.25, 0.75}


def test_loading_warms_up_every_layout() -> None:
    warmed: list[Decider] = []

    def open_decider(ref: str, lam: float | None) -> Decider:
        warmed.append(opened(ref, lam))
        return warmed[-1]

    service_for(open_decider)
    assert len(warmed[0].engine.calls) == 2  # type: ignore[attr-defined]


def test_settings_refuse_numbers_that_make_no_sense() -> None:
    for wrong in ({"batch_tokens": 0}, {"deadline_seconds": float("nan")}, {"port": 70_000}):
        with pytest.raises(InvalidInputError):
            Settings(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("alias", ["", "  "])
def test_settings_refuse_an_empty_alias(alias: str) -> None:
    with pytest.raises(InvalidInputError, match="alias: is empty"):
        Settings(aliases=("mine", alias))


@pytest.mark.parametrize(
    "origin", ["", "example.org", "https://a.example/", "https://A.example", "https://a.example/b"]
)
def test_settings_refuse_an_origin_that_no_browser_sends(origin: str) -> None:
    with pytest.raises(InvalidInputError, match="cors-origin: is"):
        Settings(cors_origins=(origin,))


@pytest.mark.parametrize(
    "origin", ["*", "null", "https://a.example", "http://[::1]:8080", "tauri://local"]
)
def test_settings_take_the_origins_that_browsers_send(origin: str) -> None:
    assert Settings(cors_origins=(origin,)).cors_origins == (origin,)
