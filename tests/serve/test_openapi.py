"""The OpenAPI document is complete, and nothing it describes breaks the server."""

import os

import hypothesis
import pytest
import schemathesis
from schemathesis import checks

from tests.serve.support import get, post, service_for
from thisthat.serve.app import create_app

CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
EXAMPLES = int(os.environ.get("THISTHAT_SCHEMA_EXAMPLES", "25"))
"""Examples per operation; there are nine of them."""

SERVICE = service_for(queue_tokens=10_000_000)
schema = schemathesis.openapi.from_asgi("/openapi.json", create_app(SERVICE))


@schema.parametrize()
@hypothesis.settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
def test_no_request_breaks_the_server(case: schemathesis.Case) -> None:
    case.call_and_validate(checks=CHECKS)


def test_every_endpoint_is_described() -> None:
    document = get(service_for(), "/openapi.json").json()
    assert set(document["paths"]) == {
        "/v1/systemone",
        "/v1/chat/completions",
        "/v1/decisions",
        "/v1/decide",
        "/v1/models",
        "/v1/models/{name}",
        "/healthz",
        "/readyz",
        "/metrics",
        "/admin/reload",
        "/page/prompt",
    }
    for operations in document["paths"].values():
        for operation in operations.values():
            assert operation["summary"]
            assert {"200", "503"} <= set(operation["responses"])


@pytest.mark.parametrize(
    "path", ["/v1/systemone", "/v1/chat/completions", "/v1/decisions", "/v1/decide"]
)
def test_the_examples_of_the_document_are_answered(path: str) -> None:
    service = service_for()
    document = get(service, "/openapi.json").json()
    content = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    (example,) = content["schema"]["examples"]
    assert post(service, path, example).status_code == 200
