"""``/docs``: the OpenAPI document as a page to read.

Written once, here, as plain HTML: no script, nothing fetched but this server's own style sheets.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from thisthat.serve.formats.wire import Operation
from thisthat.serve.page.files import CONTENT_SECURITY_POLICY

PATH = "/docs"
_METHODS = ("get", "post", "put", "delete")
_LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} members",
    "maxProperties": "at most {} members",
    "pattern": "matches {}",
    "default": "{} if left out",
}


def api_operations(document: Callable[[], Mapping[str, Any]]) -> list[Operation]:
    """The page about this document, written when it is first read.

    It holds no secrets and needs no key.
    """
    written = cache(lambda: page(document()).encode())
    headers = {
        "Cache-Control": "no-cache",
        "Content-Security-Policy": CONTENT_SECURITY_POLICY,
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }

    async def docs(request: Request) -> Response:
        return Response(written(), media_type="text/html; charset=utf-8", headers=headers)

    return [Operation(PATH, docs, method="GET", public=False)]


def page(document: Mapping[str, Any]) -> str:
    """The whole page."""
    info = document["info"]
    operations = [
        _Described(path, method, ways[method])
        for path, ways in document["paths"].items()
        for method in _METHODS
        if method in ways
    ]
    index = "".join(f"<li>{each.link}</li>" for each in operations)
    body = "".join(each.section for each in operations)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(info['title'])} · API</title>\n"
        '<link rel="icon" href="page/icon.svg" type="image/svg+xml">\n'
        '<link rel="stylesheet" href="page/colours.css">\n'
        '<link rel="stylesheet" href="page/api.css">\n</head>\n<body>\n'
        f"<header><h1>{escape(info['title'])} API</h1>\n<p>{escape(info['summary'])} "
        f"Version {escape(info['version'])}.</p>\n"
        '<p><a href="./">Playground</a> <a href="openapi.json">OpenAPI document</a></p>\n'
        "<p>Where the server has keys, send one as <code>Authorization: Bearer KEY</code>.</p>\n"
        f'</header>\n<nav aria-label="Operations"><ul>{index}</ul></nav>\n'
        f"<main>\n{body}</main>\n</body>\n</html>\n"
    )


@dataclass(frozen=True)
class _Described:
    """One operation of the document, as markup."""

    path: str
    method: str
    about: Mapping[str, Any]

    @property
    def link(self) -> str:
        return f'<a href="#{escape(self.about["operationId"])}">{self._name}</a>'

    @property
    def section(self) -> str:
        name = escape(self.about["operationId"])
        return (
            f'<section id="{name}" aria-labelledby="{name}-name">\n'
            f'<h2 id="{name}-name">{self._name}</h2>\n'
            f"<p>{escape(self.about.get('summary', ''))}</p>\n"
            f"{self._example}{self._request}{self._parameters}{self._answer}{self._refusals}"
            "</section>\n"
        )

    @property
    def _name(self) -> str:
        kind = self.method.upper()
        return f'<span class="{self.method}">{kind}</span> <code>{escape(self.path)}</code>'

    @property
    def _parameters(self) -> str:
        rows = [
            _Field(each["name"], each["schema"], each["required"], each.get("description", ""))
            for each in self.about.get("parameters", ())
        ]
        return _part("Path and headers", _table(rows)) if rows else ""

    @property
    def _request(self) -> str:
        return _part("Request", _table(list(_fields(self._body)))) if self._body else ""

    @property
    def _example(self) -> str:
        example = next(iter(self._body.get("examples", ())), None)
        return "" if example is None else _example(self.path, example)

    @property
    def _body(self) -> Mapping[str, Any]:
        given: Mapping[str, Any] = self.about.get("requestBody", {})
        schema: Mapping[str, Any] = given and given["content"]["application/json"]["schema"]
        return schema

    @property
    def _answer(self) -> str:
        parts = []
        for kind, content in self.about["responses"]["200"]["content"].items():
            schema = content["schema"]
            rows = list(_fields(schema))
            said = f"<p>{escape(schema['description'])}</p>" if "description" in schema else ""
            parts.append(f"<p><code>{escape(kind)}</code></p>{said}{_table(rows) if rows else ''}")
        return _part("Answer (200)", "".join(parts))

    @property
    def _refusals(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(status)}</td><td>{escape(each['description'])}</td></tr>"
            for status, each in self.about["responses"].items()
            if status != "200"
        )
        return _part(
            "Refusals",
            '<table><thead><tr><th scope="col">status</th><th scope="col">means</th></tr></thead>'
            f"<tbody>{rows}</tbody></table>",
        )


@dataclass(frozen=True)
class _Field:
    """A value of a body by its path, such as ``questions.NAME.type``."""

    path: str
    schema: Mapping[str, Any]
    required: bool
    description: str


def _fields(schema: Mapping[str, Any], path: str = "", required: bool = True) -> Iterator[_Field]:
    """The value at this path, and all values in it, the required ones first."""
    if path:
        yield _Field(path, schema, required, schema.get("description", ""))
    for shape in (schema, *_alternatives(schema)):
        needed = shape.get("required", ())
        properties: Mapping[str, Any] = shape.get("properties", {})
        for name in [*needed, *(each for each in properties if each not in needed)]:
            each = properties.get(name, {})
            yield from _fields(each, f"{path}.{name}" if path else name, name in needed)
        more = shape.get("additionalProperties")
        if isinstance(more, Mapping):
            yield from _inner(more, f"{path}.NAME" if path else "NAME")
        items = shape.get("items")
        if isinstance(items, Mapping):
            yield from _inner(items, f"{path}[]")


def _inner(schema: Mapping[str, Any], path: str) -> Iterator[_Field]:
    """Members of a list or a mapping; plain ones are told by their container's type."""
    alternatives = _alternatives(schema)
    shapes = [each for each in alternatives if "properties" in each]
    if len(shapes) < 2:
        yield from _fields(schema, path)
        return
    yield _Field(path, schema, True, schema.get("description", ""))
    for shape in shapes:
        kind = next(iter(_words(shape["properties"].get("type", {}))), None)
        yield from _fields({**shape, "description": ""}, f"{path} ({kind})" if kind else path)


def _alternatives(schema: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = schema.get("anyOf", schema.get("oneOf", ()))
    return found


def _words(schema: Mapping[str, Any]) -> list[Any]:
    return [schema["const"]] if "const" in schema else list(schema.get("enum", ()))


def _type(schema: Mapping[str, Any]) -> str:
    words = _words(schema)
    if words:
        return " | ".join(json.dumps(word, ensure_ascii=False) for word in words)
    alternatives = _alternatives(schema)
    if alternatives:
        return " | ".join(dict.fromkeys(map(_type, alternatives)))
    kind = schema.get("type", "anything")
    if isinstance(kind, list):
        return " | ".join(kind)
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        inner = _type(schema["items"])
        return f"array of {inner}" if "|" not in inner else "array"
    return str(kind)


def _limits(schema: Mapping[str, Any]) -> str:
    return "; ".join(
        told.format(json.dumps(schema[name], ensure_ascii=False))
        for name, told in _LIMITS.items()
        if name in schema
    )


def _table(fields: Sequence[_Field]) -> str:
    rows = []
    named: dict[tuple[str, str, bool], _Field] = {}
    for field in fields:
        named.setdefault((field.path, _type(field.schema), field.required), field)
    for (path, kind, required), first in named.items():
        limits = _limits(first.schema)
        told = " ".join([first.description, f"({limits})" if limits else ""]).strip()
        rows.append(
            f"<tr><td><code>{escape(path)}</code>{'' if required else ' <i>optional</i>'}</td>"
            f"<td><code>{escape(kind)}</code></td><td>{escape(told)}</td></tr>"
        )
    return (
        '<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">field</th>'
        '<th scope="col">type</th><th scope="col">notes</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _part(title: str, body: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{body}</details>\n"


def _example(path: str, body: Any) -> str:
    text = json.dumps(body, ensure_ascii=False, indent=1)
    # A quote inside single quotes ends them for the shell.
    safe = text.replace("'", "'\\''")
    call = f"curl -s http://HOST{path} -H 'content-type: application/json' -d '{safe}'"
    return f'<pre tabindex="0">{escape(call)}</pre>\n'
