"""``POST /page/prompt``: what the model would read, in pieces, so that the page can mark slots."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from thisthat.decide.decider import Decider
from thisthat.prompt.show import SlotMark, shown_row
from thisthat.serve.formats.systemone import REQUEST, parse
from thisthat.serve.formats.wire import JSON, Operation
from thisthat.serve.schemas import schema
from thisthat.serve.service import ParsedRequest, Service

PATH = "/page/prompt"


def prompt_operations(service: Service) -> list[Operation]:
    """The endpoint. It takes the body of ``/v1/systemone`` and refuses the same faults."""

    async def prompt(request: Request) -> Response:
        asked = await service.read(request, lambda body: parse(body, service.settings.questions))
        decider = service.checkpoints.find(asked.model)
        shown = await asyncio.to_thread(shown_prompt, decider, asked)
        return Response(json.dumps(shown), media_type="application/json")

    summary = "The prompt the model would read, with its slots"
    return [Operation(PATH, prompt, summary, {JSON: schema("prompt answer")}, REQUEST)]


def shown_prompt(decider: Decider, asked: ParsedRequest) -> dict[str, Any]:
    """Rows as texts and slots. Raises InvalidInputError for what the decider cannot read."""
    job = decider.prepare(asked.state, asked.questions)
    owners = {
        at: name
        for name, place in zip(job.questions, job.rendered.places, strict=True)
        for at in place.at
    }
    rows = []
    for number, row in enumerate(job.rendered.rows):
        shown = shown_row(row, decider.decode)
        branches = [
            [
                {"question": owners[number, piece.number], "options": piece.options}
                if isinstance(piece, SlotMark)
                else piece
                for piece in branch
            ]
            for branch in shown.branches
        ]
        rows.append({"shared": shown.shared, "branches": branches})
    return {"rows": rows, "tokens": job.rendered.tokens}
