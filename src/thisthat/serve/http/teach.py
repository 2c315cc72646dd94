"""``/admin/teach``, ``label``, ``doubts``, ``taught``: the light teach over HTTP (admin key).

The first three answer with lines of JSON: progress, then the result. What was taught stands beside
the checkpoint under a name of its own, on the same engine, until that is switched.
"""

from __future__ import annotations

import asyncio
import io
import json
import re
import zipfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from thisthat.checkpoint import open_checkpoint
from thisthat.decide.decider import Decider
from thisthat.decide.opening import decider_on
from thisthat.errors import InvalidInputError
from thisthat.questions import check_text
from thisthat.serve.checkpoints import Loaded
from thisthat.serve.formats.decide import LINES
from thisthat.serve.formats.fields import (
    check_size,
    required_list,
    required_object,
    required_text,
    wrong_type,
)
from thisthat.serve.formats.systemone import parse_questions
from thisthat.serve.formats.wire import Operation, source_as_json
from thisthat.serve.http.operations import check_admin
from thisthat.serve.logs import log
from thisthat.serve.problems import Problem, fault_of, invalid, invalid_at, place_of
from thisthat.serve.schemas import schema
from thisthat.serve.service import Service, draining
from thisthat.serve.settings import Settings
from thisthat.serve.teaching.teacher import Teacher
from thisthat.serve.teaching.worker import LABELS, Order

TEACH, LABEL, DOUBTS = "/admin/teach", "/admin/label", "/admin/doubts"
TAUGHT = "/admin/taught/{name}"
MOST_BESIDE = 4
MOST_COUNT = 500
_COUNT = 20
_ZIP = "application/zip"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
_LINE = re.compile(rf"{re.escape(LABELS)}, line (\d+)(?:, (.*))?")


@dataclass(frozen=True)
class Wanted:
    """A parsed request to teach, to choose states or to look for wrong labels."""

    questions: Mapping[str, Any]
    rows: tuple[Any, ...] = ()
    name: str | None = None
    states: tuple[Any, ...] = ()
    labelled: tuple[Any, ...] = ()
    count: int = 0


def teach_operations(service: Service) -> list[Operation]:
    """The endpoints; ``allowed`` says who may use them."""

    async def teach(request: Request) -> Response:
        teacher = allowed(service, request)
        wanted = await service.read_value(request, lambda body: parse_teach(body, service))
        parent = service.checkpoints.current()
        name = wanted.name or teacher.free_name(service.checkpoints.names())
        if name in service.checkpoints.names() or (teacher.folder / name).exists():
            raise invalid_at(("name",), f"{name!r} is taken")
        output = teacher.folder / name
        order = _order(service, parent, teacher, "teach", wanted, output=str(output))

        async def taught(found: dict[str, Any]) -> dict[str, Any]:
            return await _beside(service, teacher, parent, name, found)

        return await _streamed(service, teacher, order, wanted.rows, "taught", taught)

    async def label(request: Request) -> Response:
        teacher = allowed(service, request)
        wanted = await service.read_value(request, lambda body: parse_label(body, service))
        parent = service.checkpoints.current()
        order = _order(
            service,
            parent,
            teacher,
            "label",
            wanted,
            states=wanted.states,
            labelled=wanted.labelled,
            count=wanted.count,
        )
        return await _streamed(service, teacher, order, (), "next", _unchanged)

    async def doubts(request: Request) -> Response:
        teacher = allowed(service, request)
        wanted = await service.read_value(request, lambda body: parse_doubts(body, service))
        order = _order(service, service.checkpoints.current(), teacher, "doubt", wanted)
        return await _streamed(service, teacher, order, wanted.rows, "doubts", _unchanged)

    async def download(request: Request) -> Response:
        teacher = allowed(service, request)
        name = request.path_params["name"]
        if name not in service.checkpoints.beside():
            raise Problem(404, "not_taught", f"nothing called {name[:100]!r} was taught here")
        try:
            content = await asyncio.to_thread(_zipped, teacher.folder / name)
        except FileNotFoundError:
            raise Problem(404, "not_taught", f"{name!r} has just been dropped") from None
        headers = {"content-disposition": f'attachment; filename="{name}.zip"'}
        return Response(content, headers=headers, media_type=_ZIP)

    line = {LINES: schema("teach line")}
    more = (409, 500, 504)
    return [
        Operation(
            TEACH,
            teach,
            "Teach from labels beside the checkpoint (admin key, or --teach)",
            line,
            schema("teach request"),
            more_statuses=more,
        ),
        Operation(
            LABEL,
            label,
            "Choose the states to label next (admin key, or --teach)",
            line,
            schema("label request"),
            more_statuses=more,
        ),
        Operation(
            DOUBTS,
            doubts,
            "Find labels that may be wrong (admin key, or --teach)",
            line,
            schema("doubts request"),
            more_statuses=more,
        ),
        Operation(
            TAUGHT,
            download,
            "A taught layer as a zip of its folder (admin key, or --teach)",
            {_ZIP: {"type": "string", "format": "binary"}},
            method="GET",
        ),
    ]


def allowed(service: Service, request: Request) -> Teacher:
    """Who teaches. Raises Problem: 403 where nobody may, 401 or 403 for the wrong key."""
    if service.teacher is None:
        raise Problem(403, "no_teaching", "this server does not teach")
    if service.keys.guards("admin"):
        check_admin(service, request)
    elif service.settings.teach:
        service.admit(request)
    else:
        why = "this server was started without an admin key (--admin-keys FILE) and without --teach"
        raise Problem(403, "no_admin_key", why)
    return service.teacher


def parse_teach(body: Any, service: Service) -> Wanted:
    """A body with questions and labelled rows. Raises Problem (422)."""
    fields, settings = _known(body, ("questions", "rows", "name")), service.settings
    rows = _rows(fields, settings)
    name = required_text(fields, "name") if "name" in fields else None
    if name is not None and not _NAME.fullmatch(name):
        raise invalid_at(("name",), "must be 1 to 40 of a-z, 0-9, '.', '_' and '-'")
    return Wanted(_questions(fields, settings), rows, name)


def parse_doubts(body: Any, service: Service) -> Wanted:
    """A body with questions and labelled rows. Raises Problem (422)."""
    fields, settings = _known(body, ("questions", "rows")), service.settings
    return Wanted(_questions(fields, settings), _rows(fields, settings))


def parse_label(body: Any, service: Service) -> Wanted:
    """A body with questions and states. Raises Problem (422)."""
    fields = _known(body, ("questions", "states", "labelled", "count"))
    settings = service.settings
    states = required_list(fields, "states", 1, settings.teach_states)
    labelled = (
        required_list(fields, "labelled", 0, settings.teach_rows) if "labelled" in fields else []
    )
    for field, given in (("states", states), ("labelled", labelled)):
        for number, state in enumerate(given):
            check_size(state, (field, number))
            try:
                check_text(state, "")
            except InvalidInputError as error:
                raise invalid([fault_of(error, (field, number))]) from None
    count = fields.get("count", _COUNT)
    if isinstance(count, bool) or not isinstance(count, int):
        raise wrong_type(("count",), "a whole number", count)
    if not 1 <= count <= MOST_COUNT:
        raise invalid_at(("count",), f"is {str(count)[:40]}; it must lie in 1 to {MOST_COUNT}")
    return Wanted(
        _questions(fields, settings), states=tuple(states), labelled=tuple(labelled), count=count
    )


def _known(body: Any, known: tuple[str, ...]) -> Mapping[str, Any]:
    fields = required_object(body, ())
    unknown = [name for name in fields if name not in known]
    if unknown:
        raise invalid_at((unknown[0],), f"is not known; known are {', '.join(known)}")
    return fields


def _rows(fields: Mapping[str, Any], settings: Settings) -> tuple[Any, ...]:
    rows = required_list(fields, "rows", 1, settings.teach_rows)
    for number, row in enumerate(rows):
        check_size(required_object(row, ("rows", number)).get("state"), ("rows", number, "state"))
    return tuple(rows)


def _questions(fields: Mapping[str, Any], settings: Settings) -> Mapping[str, Any]:
    """The questions as they were sent, once they are known to be some."""
    parse_questions(fields, settings.questions)
    found: Mapping[str, Any] = fields["questions"]
    return found


def _order(
    service: Service, parent: Loaded, teacher: Teacher, do: Any, wanted: Wanted, **more: Any
) -> Order:
    return Order(
        do,
        parent.ref,
        parent.main.source.lam,
        teacher.opening,
        wanted.questions,
        service.settings.teach_memory_bytes,
        str(Path.cwd()),
        **more,
    )


async def _unchanged(found: Any) -> Any:
    return found


async def _streamed(
    service: Service, teacher: Teacher, order: Order, rows: tuple[Any, ...], last: str, finish: Any
) -> Response:
    """The process's lines once it has accepted what was sent, else its refusal as a problem."""
    lines = teacher.lines(order, service.settings.teach_seconds, rows)
    try:
        first = await anext(lines, None)
        _refuse(first)
    except BaseException:
        await lines.aclose()
        raise

    async def passed_on() -> AsyncIterator[bytes]:
        try:
            yield _line({"progress": {"share": 0.0, "question": ""}})
            async for line in lines:
                if service.draining:
                    raise draining()
                _refuse(line)
                if last in line:
                    yield _line({last: await finish(line[last])})
                    return  # everything is written; the process need not put itself away
                elif "progress" in line:
                    yield _line(line)
        except Problem as problem:
            # The status is sent already: what went wrong is the last line.
            yield _line({"error": {"status": problem.status, "message": problem.message}})
        finally:
            await lines.aclose()

    return StreamingResponse(passed_on(), media_type=LINES)


def _refuse(line: dict[str, Any] | None) -> None:
    """Raise Problem for a line that says what went wrong; 500 where there is none at all."""
    if line is None:
        raise Problem(500, "teaching_failed", "the teaching process said nothing")
    if "error" not in line:
        return
    error = line["error"]
    message = _LINE.sub(lambda found: f"row {found[1]}", error["message"])
    if error["kind"] != "invalid":
        raise Problem(409, "teaching_refused", message)
    found = _LINE.fullmatch(error["field"])
    if found is not None:
        raise invalid_at(("rows", int(found[1]) - 1, *place_of(found[2] or "")), message)
    name = error["field"].removeprefix(LABELS).removeprefix(", ")
    if error["field"].startswith(LABELS):
        raise invalid_at(("rows",), f"{name}: {message}" if name else message)
    raise invalid_at(place_of(error["field"]), message)


async def _beside(
    service: Service, teacher: Teacher, parent: Loaded, name: str, found: dict[str, Any]
) -> dict[str, Any]:
    """What was taught, opened on the parent's engine, under its name."""
    output, checkpoints = teacher.folder / name, service.checkpoints
    told = {"learned": found["learned"], "lines": found["lines"], "model": None, "dropped": None}
    if not found["written"]:
        return told
    loaded = await asyncio.to_thread(_opened, parent, output)
    told["dropped"] = checkpoints.stand_beside(name, loaded, MOST_BESIDE)
    await asyncio.to_thread(teacher.keep, checkpoints.beside())
    source = source_as_json(loaded.main.source)
    log("taught", model=name, dropped=told["dropped"], **source)
    size = sum(path.stat().st_size for path in output.iterdir())
    return {**told, "model": name, "bytes": size, **source}


def _opened(parent: Loaded, folder: Path) -> Loaded:
    """The taught checkpoint on its parent's engine, at any λ."""
    checkpoint = open_checkpoint(folder, 1.0)

    @lru_cache(16)
    def at(lam: float) -> Decider:
        decider = decider_on(parent.main.engine, checkpoint.at(lam), parent.main.builder)
        decider.log = parent.main.log
        return decider

    main = at(1.0)
    return Loaded(str(folder), main, {main.source.lam: main}, parent.released, at)


def _zipped(folder: Path) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(folder.iterdir()):
            file.write(path, f"{folder.name}/{path.name}")
    return content.getvalue()


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"
