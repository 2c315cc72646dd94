"""Which hosts a request may name, and who is believed about whom it asks for."""

import httpx
import pytest

from tests.serve.support import REQUEST, get, log_lines, on_loopback, post, service_for


@pytest.mark.parametrize(
    ("settings", "host", "status"),
    [
        ({"allowed_hosts": ()}, "127.0.0.1:8017", 200),
        ({"allowed_hosts": ()}, "LOCALHOST", 200),
        ({"allowed_hosts": ()}, "[::1]:80", 200),
        ({"allowed_hosts": ()}, "evil.example", 421),
        ({"allowed_hosts": ()}, "127.0.0.1.evil.example", 421),
        ({"allowed_hosts": (), "host": "0.0.0.0"}, "evil.example", 200),
        ({"allowed_hosts": ("api.example",), "host": "0.0.0.0"}, "api.example:443", 200),
        ({"allowed_hosts": ("api.example",), "host": "0.0.0.0"}, "10.0.0.1", 421),
        ({"allowed_hosts": ("*",)}, "evil.example", 200),
    ],
)
def test_only_known_hosts_are_answered(settings: dict[str, object], host: str, status: int) -> None:
    service = service_for(**settings)
    answered = post(service, "/v1/systemone", REQUEST, headers={"host": host})
    assert answered.status_code == status
    if status == 421:
        assert answered.json()["code"] == "unknown_host"
    # Whoever probes a container names its address.
    assert get(service, "/healthz", headers={"host": host}).status_code == 200


def test_no_redirect_names_the_host_a_client_claims() -> None:
    answered = post(service_for(), "/v1/decide/", {}, headers={"host": "evil.example"})
    assert answered.status_code == 404
    assert "evil.example" not in str(answered.headers)


@pytest.mark.parametrize(("trusted", "caller"), [((), "127.0.0.1"), (("127.0.0.1",), "9.9.9.9")])
def test_only_trusted_proxies_say_who_asks(trusted: tuple[str, ...], caller: str) -> None:
    with log_lines() as lines, on_loopback(service_for(trusted_proxies=trusted)) as address:
        url = f"{address}/v1/models"
        assert httpx.get(url, headers={"x-forwarded-for": "9.9.9.9"}).status_code == 200
    assert [line["caller"] for line in lines if "caller" in line] == [caller]


def test_a_long_path_counts_as_head() -> None:
    assert get(service_for(), "/" + "x" * 20_000).status_code == 431
