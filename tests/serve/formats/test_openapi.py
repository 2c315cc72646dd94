"""The OpenAPI document is complete, and nothing it describes breaks the server.

`make schema` runs the same with many more examples and fails if they are fewer than it says.
"""

import os
from collections import Counter
from collections.abc import Iterator

import hypothesis
import pytest
import schemathesis
from schemathesis import checks

from tests.serve.support import get, post, service_for
from thisthat.serve.formats.own_fields import OWN_FIELDS
from thisthat.serve.http.app import create_app
from thisthat.serve.scheduling.deadline import TIMEOUT


def no_server_error(
    context: schemathesis.CheckContext, answer: schemathesis.Response, case: schemathesis.Case
) -> bool | None:
    """As schemathesis checks it; but a request may itself set a deadline that cannot be met."""
    if answer.status_code == 503 and b'"deadline"' in answer.content:
        assert case.headers is not None
        assert TIMEOUT in case.headers
        return None
    return checks.not_a_server_error(context, answer, case)


CHECKS = [
    no_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
EXAMPLES = int(os.environ.get("THISTHAT_SCHEMA_EXAMPLES", "10"))
"""Examples drawn per operation, behind two thousand that cover its schema in every run."""

LEAST = int(os.environ.get("THISTHAT_SCHEMA_LEAST", "0"))
"""Requests that must have been made in all."""

SERVICE = service_for(queue_tokens=10_000_000)
schema = schemathesis.openapi.from_asgi("/openapi.json", create_app(SERVICE))


@pytest.fixture(scope="module")
def requests() -> Iterator[Counter[tuple[str, int]]]:
    """Counts requests by operation and status, and says how many there were."""
    made: Counter[tuple[str, int]] = Counter()
    yield made
    if LEAST:
        for (operation, status), count in sorted(made.items()):
            print(f"{count:6d}  {status}  {operation}")
        print(f"{made.total():6d}  requests, no server error but deadlines they set")
    assert made.total() >= LEAST


@schema.parametrize()
@hypothesis.settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
def test_no_request_breaks_the_server(
    case: schemathesis.Case, requests: Counter[tuple[str, int]]
) -> None:
    answer = case.call_and_validate(checks=CHECKS)
    requests[case.operation.label, answer.status_code] += 1


def test_every_endpoint_is_described() -> None:
    document = get(service_for(), "/openapi.json").json()
    assert set(document["paths"]) == {
        "/v1/systemone",
        "/v1/chat/completions",
        "/v1/decisions",
        "/v1/decide",
        "/v1/outcomes",
        "/v1/models",
        "/v1/models/{name}",
        "/healthz",
        "/readyz",
        "/metrics",
        "/admin/reload",
        "/admin/loop",
        "/admin/loop/review",
        "/admin/teach",
        "/admin/label",
        "/admin/doubts",
        "/admin/taught/{name}",
        "/page/prompt",
        "/page/about",
    }
    for operations in document["paths"].values():
        for operation in operations.values():
            assert operation["summary"]
            assert {"200", "503"} <= set(operation["responses"])


@pytest.mark.parametrize("path", ["/v1/systemone", "/v1/chat/completions", "/v1/decisions"])
def test_the_document_says_what_only_decide_takes(path: str) -> None:
    document = get(service_for(), "/openapi.json").json()
    content = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    for name in OWN_FIELDS:
        assert content["schema"]["properties"][name]["type"] == "null"


@pytest.mark.parametrize(
    "path", ["/v1/systemone", "/v1/chat/completions", "/v1/decisions", "/v1/decide"]
)
def test_the_examples_of_the_document_are_answered(path: str) -> None:
    service = service_for()
    document = get(service, "/openapi.json").json()
    content = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    (example,) = content["schema"]["examples"]
    assert post(service, path, example).status_code == 200
