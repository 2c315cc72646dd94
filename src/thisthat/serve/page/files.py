"""Serves the page's files as they lie in ``static/``: read once, no build step, nothing fetched
from elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from thisthat.serve.formats.wire import Operation

if TYPE_CHECKING:
    from importlib.abc import Traversable

PAGES = {"/": "index.html", "/loop": "loop.html"}

MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

# Scripts, styles and requests come from this server and nowhere else; no script is ever inline.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file's bytes, their type, and a tag that changes with them."""

    content: bytes
    media_type: str
    tag: str


def page_operations() -> list[Operation]:
    """The pages and the files they load from ``/page/``. They hold no secrets and need no key."""
    known = _page_files()

    async def page(request: Request) -> Response:
        response = _answer(request, known[PAGES[request.url.path]])
        response.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
        response.headers["Referrer-Policy"] = "no-referrer"
        return response

    async def page_file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in known:
            raise HTTPException(404, f"the page has no file {name!r}")
        return _answer(request, known[name])

    return [
        *(Operation(path, page, method="GET", public=False) for path in PAGES),
        Operation("/page/{name:path}", page_file, method="GET", public=False),
    ]


def _page_files() -> dict[str, PageFile]:
    """Every file of ``static/`` by its path in it."""
    return dict(_files_in(files(__package__).joinpath("static"), ""))


def _files_in(folder: Traversable, under: str) -> Iterator[tuple[str, PageFile]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _files_in(entry, f"{under}{entry.name}/")
            continue
        media_type = MEDIA_TYPES[f".{entry.name.rpartition('.')[2]}"]
        content = entry.read_bytes()
        tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        yield f"{under}{entry.name}", PageFile(content, media_type, tag)


def _answer(request: Request, file: PageFile) -> Response:
    headers = {"ETag": file.tag, "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.media_type, headers=headers)
