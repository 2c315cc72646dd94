"""Systems behind HTTP: one file per wire format, one client with retries, one recording.

May import ``systems.protocol`` and ``systems.replies``.
"""

from __future__ import annotations

from thisthat_lab.bench.systems.endpoints.chat import ChatWire
from thisthat_lab.bench.systems.endpoints.client import EndpointSystem
from thisthat_lab.bench.systems.endpoints.decisions import DecisionsWire
from thisthat_lab.bench.systems.endpoints.systemone import SystemOneWire
from thisthat_lab.bench.systems.endpoints.wire import Wire
from thisthat_lab.bench.systems.protocol import SystemOptions


def open_endpoint(scheme: str, url: str, options: SystemOptions) -> EndpointSystem:
    """The endpoint at ``url`` (with or without a trailing /v1) that speaks ``scheme``."""
    wires: dict[str, Wire] = {
        "chat": ChatWire(options.answer_tokens),
        "systemone": SystemOneWire(),
        "decisions": DecisionsWire(),
    }
    return EndpointSystem(wires[scheme], url, options)
