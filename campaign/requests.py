"""Made-up requests of two independent generators, all formats, with and without keys and log.

One breaks well-formed requests at random (values, names, bytes, encodings, headers); the other
builds from each format's JSON schema. None may be a server error other than stated overload, hang,
or be answered with something that is not JSON. The small engine of the attacks answers them.
"""

from __future__ import annotations

import copy
import gzip
import http.client
import json
import random
import string
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import zstandard
from tests.serve.support import REQUEST

from campaign.report import Finding, at_most, none_of, noted
from campaign.served import Served, serving, verified

COUNT = {"short": 2_000, "full": 50_000}
KEY = "campaign-key"
SCHEMA = {"type": "object", "properties": {"team": {"enum": ["red", "blue"]}}}
CHAT_FORM = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
FORMATS: dict[str, Any] = {
    "/v1/systemone": REQUEST,
    "/v1/decide": {"states": ["one", {"two": 2}], "questions": REQUEST["questions"]},
    "/v1/decisions": {
        "model": "default",
        "input": "The parcel never came.",
        "questions": [
            {"type": "predicate", "instructions": "It is lost."},
            {"type": "choice", "instructions": "Who?", "choices": [{"value": "a"}, {"value": "b"}]},
        ],
    },
    "/v1/chat/completions": {
        "model": "default",
        "messages": [
            {"role": "user", "content": "It is lost."},
            {"role": "user", "content": "Who?"},
        ],
        "response_format": CHAT_FORM,
        "logprobs": True,
    },
    "/v1/outcomes": {"outcomes": [{"request": "r", "question": "q", "option": "yes"}]},
}
ODD: list[Any] = [
    None, True, 0, -1, 1.5, 1e308, 2**70, "", " ", "\x00", "\ud800", "x" * 3000, "é\u202e🎉", [],
    {}, [[]], {"": None}, ["a", "a"], {"type": "choice"}, "average", "schema-first", [None] * 300,
]  # fmt: skip


def broken(rng: random.Random, value: Any) -> Any:
    """The value with one place in it changed, removed, doubled or wrapped."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        changed = copy.copy(value)
        name = rng.choice(list(value))
        deed = rng.randrange(5)
        if deed == 0:
            del changed[name]
        elif deed == 1:
            changed[rng.choice(["", name.upper(), "layout", "policy", "\ud800", "x" * 99])] = (
                rng.choice(ODD)
            )
        else:
            changed[name] = broken(rng, value[name])
        return changed
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        middle = rng.choice([[], [value[at]] * 2, [broken(rng, value[at])]])
        return [*value[:at], *middle, *value[at + 1 :]]
    return rng.choice([rng.choice(ODD), [value], {"x": value}])


def by_breaking(rng: random.Random) -> tuple[str, bytes, dict[str, str]]:
    path = rng.choice(list(FORMATS))
    value = FORMATS[path]
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        value = broken(rng, value)
    body = json.dumps(value).encode()
    headers: dict[str, str] = {}
    if rng.random() < 0.1:
        at = rng.randrange(len(body) + 1)
        body = body[:at] + rng.randbytes(rng.randrange(4)) + body[at + rng.randrange(3) :]
    if rng.random() < 0.1:
        headers["content-encoding"] = rng.choice(["gzip", "zstd", "br", "identity"])
        pack: dict[str, Callable[[bytes], bytes]] = {
            "gzip": partial(gzip.compress, mtime=0),
            "zstd": zstandard.compress,
        }
        body = pack.get(headers["content-encoding"], bytes)(body)
    if rng.random() < 0.1:
        name = rng.choice(["x-request-timeout-ms", "x-request-id", "traceparent", "content-type"])
        headers[name] = rng.choice(["1", "0", "abc", "é", "1" * 200, "text/plain"])
    return path, body, headers


def by_schema(served: Served) -> Callable[[random.Random], tuple[str, bytes, dict[str, str]]]:
    """Values that follow the OpenAPI document, most of the time."""
    document = json.loads(served.ask(path="/openapi.json", method="GET")[2])
    schemas = {
        path: operation["post"]["requestBody"]["content"]["application/json"]["schema"]
        for path, operation in document["paths"].items()
        if "requestBody" in operation.get("post", {}) and path.startswith("/v1")
    }

    def made(rng: random.Random) -> tuple[str, bytes, dict[str, str]]:
        path = rng.choice(list(schemas))
        return path, json.dumps(built(rng, schemas[path], document, 0)).encode(), {}

    return made


def built(rng: random.Random, schema: Any, document: Any, depth: int) -> Any:
    if not isinstance(schema, dict) or depth > 7 or rng.random() < 0.02:
        return rng.choice([*ODD[:12], "text", {"a": [1]}])
    if "$ref" in schema:
        found = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part.replace("~1", "/").replace("~0", "~")]
        return built(rng, found, document, depth + 1)
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return built(rng, rng.choice(schema[several]), document, depth + 1)
    if "allOf" in schema:
        parts = [built(rng, each, document, depth + 1) for each in schema["allOf"]]
        return {k: v for part in parts if isinstance(part, dict) for k, v in part.items()}
    if "enum" in schema or "const" in schema:
        return rng.choice(schema.get("enum", [schema.get("const")]))
    kind = schema.get("type", rng.choice(["string", "object", "array", "integer"]))
    kind = rng.choice(kind) if isinstance(kind, list) else kind
    if kind == "object":
        return dict(members(rng, schema, document, depth))
    if kind == "array":
        least = schema.get("minItems", 0)
        most = min(schema.get("maxItems", 4), least + 3)
        inside = schema.get("items", {})
        return [
            built(rng, inside, document, depth + 1)
            for _ in range(rng.randint(least, max(least, most)))
        ]
    plain = {"integer": rng.randint(0, 9), "number": rng.random(), "boolean": rng.random() < 0.5}
    return plain.get(kind, None if kind == "null" else text(rng))


def members(
    rng: random.Random, schema: Any, document: Any, depth: int
) -> Iterator[tuple[str, Any]]:
    required = schema.get("required", ())
    for name, inside in schema.get("properties", {}).items():
        if name in required or rng.random() < 0.3:
            yield name, built(rng, inside, document, depth + 1)
    if schema.get("additionalProperties") or "patternProperties" in schema:
        inside = schema.get("additionalProperties")
        for _ in range(rng.randint(1, 3)):
            yield text(rng), built(rng, inside, document, depth + 1)


def text(rng: random.Random) -> str:
    some = string.ascii_letters + " äß漢🎉\n"
    return "".join(rng.choices(some, k=rng.choice([1, 5, 40]))) if rng.random() < 0.9 else "default"


def send(
    served: Served, count: int, make: Callable[..., Any], rng: random.Random, key: str | None
) -> Counter[str]:
    seen: Counter[str] = Counter()
    client = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    for _ in range(count):
        path, body, headers = make(rng)
        headers = {"content-type": "application/json", **headers}
        if key and rng.random() < 0.9:
            headers["authorization"] = f"Bearer {key}"
        try:
            client.request("POST", path, body, {k: v.encode("utf-8") for k, v in headers.items()})
            answer = client.getresponse()
            content = answer.read()
        except TimeoutError:
            seen["hung"] += 1
            client.close()
            continue
        except (OSError, http.client.HTTPException):
            seen["cut off"] += 1
            client.close()
            continue
        seen[str(answer.status)] += 1
        if answer.status == 503:
            said = json.loads(content)
            kind = said.get("code") or said["error"]["code"]
            seen["503 unlike overload"] += kind not in ("overloaded", "deadline")
        try:
            for line in content.splitlines() if path == "/v1/decide" else [content]:
                json.loads(line)
        except ValueError:
            seen["not JSON"] += not content.startswith(b"data: ")
    client.close()
    return seen


def run(size: str) -> list[Finding]:
    each = COUNT[size] // 8
    seen: Counter[str] = Counter()
    whole = True
    with tempfile.TemporaryDirectory() as name:
        for number, (key, logged) in enumerate(
            [(None, False), (KEY, False), (None, True), (KEY, True)]
        ):
            log = Path(name) / f"{number}.sqlite"
            command = [sys.executable, "-m", "tests.attacks.server", str(log) if logged else ""]
            environment = {"THISTHAT_KEYS": key} if key else {}
            with serving(command=command, environment=environment) as served:
                for way, make in enumerate((by_breaking, by_schema(served))):
                    seen += send(served, each, make, random.Random(10 * number + way), key)
            whole &= not logged or verified(log)
    errors = sum(n for status, n in seen.items() if status.startswith("5") and status != "503")
    total = sum(n for status, n in seen.items() if status.isdigit())
    shown = ", ".join(f"{n:,} × {status}" for status, n in sorted(seen.items()) if status.isdigit())
    return [
        noted("requests", total),
        noted("statuses", shown),
        none_of("5xx other than stated overload", errors + seen["503 unlike overload"]),
        none_of("hangs", seen["hung"]),
        none_of("connections cut off", seen["cut off"]),
        none_of("answers that are not JSON", seen["not JSON"]),
        at_most("logs that do not verify", float(not whole), 0),
    ]
