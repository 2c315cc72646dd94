"""Headers that every response carries, and the one by which the playground says who asks."""

from __future__ import annotations

PLAYGROUND = b"x-thisthat-playground"

SECURITY_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",
}


def id_headers(request_id: str) -> list[tuple[bytes, bytes]]:
    """The request id under both names that clients expect."""
    value = request_id.encode()
    return [(b"x-request-id", value), (b"x-typesafe-request-id", value)]
