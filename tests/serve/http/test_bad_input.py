"""Everything a client can get wrong is a 4xx that names the field and the limit."""

import gzip
import json
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.serve.support import REQUEST, get, post, service_for
from thisthat.serve.formats import decide
from thisthat.serve.formats.own_fields import OWN_FIELDS
from thisthat.serve.http.strict_json import JsonLimits, read_json
from thisthat.serve.problems import Problem

CHAT: dict[str, Any] = {
    "model": "default",
    "messages": [{"role": "user", "content": "Which?"}],
    "response_format": {
        "type": "json_schema",
        "json_schema": {"schema": {"properties": {"a": {"enum": ["x", "y"]}}}},
    },
}
DECISIONS: dict[str, Any] = {
    "model": "default",
    "input": "state",
    "questions": [{"type": "predicate", "instructions": "Is it?"}],
}
DECIDE: dict[str, Any] = {"states": ["s"], "questions": {"q": "Is it?"}}
SERVICE = service_for(body_bytes=200_000, expanded_bytes=400_000, request_tokens=20_000)


def question(**spec: Any) -> dict[str, Any]:
    return {**REQUEST, "questions": {"good": "Is it?", "q.1": spec}}


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in REQUEST.items() if key != name}


def choices(count: int) -> dict[str, Any]:
    return question(type="choice", criteria=[f"o{n}" for n in range(count)])


@pytest.mark.parametrize(
    ("body", "loc", "says"),
    [
        (without("state"), ["state"], "missing"),
        (without("questions"), ["questions"], "missing"),
        ({**REQUEST, "model": 7}, ["model"], "text"),
        ({**REQUEST, "state": None}, ["state"], "text"),
        ({**REQUEST, "state": 3.5}, ["state"], "text"),
        ({**REQUEST, "state": "a\0b"}, ["state"], "NUL"),
        ({**REQUEST, "state": {"deep": {"er": "a\ud800"}}}, ["state", "deep", "er"], "surrogate"),
        ({**REQUEST, "state": "x" * 1001}, ["state"], "1001 tokens, but at most 1000"),
        ({**REQUEST, "questions": {}}, ["questions"], "1 to 400"),
        ({**REQUEST, "questions": []}, ["questions"], "object"),
        ({**REQUEST, "questions": {"": "Is it?"}}, ["questions", ""], "empty"),
        ({**REQUEST, "stream": True}, ["stream"], "false"),
        (question(type="essay"), ["questions", "q.1", "type"], "'essay'"),
        (question(), ["questions", "q.1", "type"], "None"),
        (question(type="noul", instructions=" "), ["questions", "q.1", "instructions"], "empty"),
        ({**REQUEST, "questions": {"q": ""}}, ["questions", "q", "instructions"], "empty"),
        (question(type="noul", critera={}), ["questions", "q.1", "critera"], "not known"),
        (question(type="noul", criteria={"maybe": "x"}), ["questions", "q.1", "criteria"], "true"),
        (question(type="choice"), ["questions", "q.1", "criteria"], "labels"),
        (question(type="choice", criteria={}), ["questions", "q.1", "criteria"], "1 to 255"),
        (choices(256), ["questions", "q.1", "criteria"], "256 given"),
        (
            question(type="choice", criteria=["a", "a"]),
            ["questions", "q.1", "criteria", 1, "name"],
            "already",
        ),
        (
            question(type="choice", criteria={" ": None}),
            ["questions", "q.1", "criteria", 0, "name"],
            "empty",
        ),
        (question(type="score", criteria="low"), ["questions", "q.1", "criteria"], "levels"),
        (question(type="score", criteria=[]), ["questions", "q.1", "criteria"], "1 to 255"),
        (question(type="score", criteria=[None]), ["questions", "q.1", "criteria", 0], "text"),
        (question(type="noul", instructions=4), ["questions", "q.1", "instructions"], "text"),
        (
            {**REQUEST, "questions": {str(n): "Is it?" for n in range(401)}},
            ["questions"],
            "1 to 400",
        ),
        ({**REQUEST, "questions": {"q": "x" * 5000}}, ["questions"], "no room"),
        (
            {**REQUEST, "questions": {str(n): "x" * 3000 for n in range(9)}},
            [],
            "at most 20000",
        ),
    ],
)
def test_systemone_names_the_place_and_the_limit(body: Any, loc: list[Any], says: str) -> None:
    answered = post(SERVICE, "/v1/systemone", content=json.dumps(body).encode())
    assert answered.status_code == 422, answered.text
    fault = answered.json()["detail"][0]
    assert fault["loc"] == ["body", *loc]
    assert says in fault["msg"]
    assert fault["type"]


def test_all_bad_questions_are_named_at_once() -> None:
    questions = {"a": {"type": "x"}, "b": "Is it?", "c": {"type": "score"}}
    answered = post(SERVICE, "/v1/systemone", {**REQUEST, "questions": questions})
    assert [fault["loc"][2] for fault in answered.json()["detail"]] == ["a", "c"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not JSON"),
        (b'{"model": "default", "sta', "not JSON"),
        (b"[]", "object, not an array"),
        (b"null", "object, not null"),
        (b'{"model": "a", "model": "b"}', "'model' twice"),
        (b'{"state": {"x": {"y": 1, "y": 2}}}', "'y' twice"),
        (b'{"state": [NaN]}', "NaN"),
        (b'{"state": [-Infinity]}', "-Infinity"),
        (b'{"state": "\xff\xfe"}', "not UTF-8: byte 11"),
        (b'{"state": "\xed\xa0\x80"}', "not UTF-8"),
        (b'{"a":' * 73 + b"1" + b"}" * 73, "deeper than 72"),
        (b"[" * 100_000, "deeper than 72"),
        (b'{"state": ' + b"9" * 5000 + b"}", 'value has 5000 digits"'),
        (b"\xef\xbb\xbf{}", "not JSON"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/systemone", "/v1/decide", "/v1/decisions"])
def test_bodies_that_are_no_json_object(path: str, content: bytes, says: str) -> None:
    answered = post(SERVICE, path, content=content)
    assert answered.status_code == (400 if path == "/v1/decisions" else 422)
    assert says in answered.text


def test_numbers_too_large_for_a_float_are_refused() -> None:
    content = json.dumps(REQUEST).replace("12", "1e999").encode()
    answered = post(SERVICE, "/v1/systemone", content=content)
    assert answered.status_code == 422
    assert answered.json()["detail"][0]["loc"] == ["body", "state", "days"]


LONG = "x" * 1001
ALONE = [{"role": "user", "content": [{"type": "input_json", "data": {"x": "a\0"}}]}]


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        (
            "chat/completions",
            {**CHAT, "messages": [{"role": "user", "content": LONG}, *CHAT["messages"]]},
            "messages",
        ),
        ("decisions", {**DECISIONS, "input": LONG}, "input"),
        ("decisions", {**DECISIONS, "input": ALONE}, "input[0].content[0].data.x"),
    ],
)
def test_a_state_that_cannot_be_read_is_named_as_its_format_names_it(
    path: str, body: dict[str, Any], param: str
) -> None:
    answered = post(SERVICE, f"/v1/{path}", body)
    assert answered.status_code == 400
    assert answered.json()["error"]["param"] == param


CALL = {"role": "user", "content": "a", "tool_calls": [{"x": {"y": "HUGE"}}]}
HUGE_ENUM = {
    "type": "json_schema",
    "json_schema": {"schema": {"properties": {"a": {"enum": ["HUGE", 1]}}}},
}
PARTS = [{"type": "input_json", "data": {"x": "HUGE"}}, {"type": "input_text", "text": "a"}]


@pytest.mark.parametrize("number", ["1e999", "-1e999"])
@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        (
            "chat/completions",
            {**CHAT, "messages": [CALL, *CHAT["messages"]]},
            "messages[0].tool_calls[0].x.y",
        ),
        (
            "chat/completions",
            {**CHAT, "response_format": HUGE_ENUM},
            "response_format.json_schema.schema.properties.a",
        ),
        (
            "decisions",
            {**DECISIONS, "input": [{"role": "user", "content": PARTS}]},
            "input[0].content[0].data.x",
        ),
    ],
)
def test_they_are_refused_wherever_else_json_may_stand(
    path: str, body: dict[str, Any], param: str, number: str
) -> None:
    content = json.dumps(body).replace('"HUGE"', number).encode()
    answered = post(SERVICE, f"/v1/{path}", content=content)
    assert answered.status_code == 400
    assert answered.json()["error"]["param"] == param


@pytest.mark.parametrize("value", [-0.1, 1.5, 10**400, True, "1"])
def test_a_lambda_outside_its_range_is_refused(value: object) -> None:
    body = {"states": ["x"], "questions": {"q": "Is it?"}, "lambda": value}
    answered = post(SERVICE, "/v1/decide", body)
    assert answered.status_code == 422
    assert answered.json()["detail"][0]["loc"] == ["body", "lambda"]
    assert len(answered.text) < 1000


def test_brackets_inside_texts_do_not_count_as_depth() -> None:
    state = '[{"\\' * 200
    assert post(SERVICE, "/v1/systemone", {**REQUEST, "state": state}).status_code == 200


def test_a_text_without_an_end_is_looked_through_once() -> None:
    """Looking for its end from every escaped quote would take hours."""
    with pytest.raises(Problem) as raised:
        read_json(b"[" * 30 + b'"' + b'\\"' * 500_000, JsonLimits(64), json.dumps)
    assert "has no end" in raised.value.faults[0].message


@given(st.recursive(st.text(max_size=9), lambda inner: st.lists(inner, max_size=4), max_leaves=40))
def test_depth_is_counted_as_it_is(value: Any) -> None:
    def depth(each: Any) -> int:
        return 1 + max(map(depth, each), default=0) if isinstance(each, list) else 0

    body = json.dumps(value).encode()
    assert read_json(body, JsonLimits(depth(value)), lambda read: read) == value
    if depth(value):
        with pytest.raises(Problem):
            read_json(body, JsonLimits(depth(value) - 1), json.dumps)


@pytest.mark.parametrize("kind", ["text/plain", "", "application/x-www-form-urlencoded", "xml"])
def test_another_content_type_is_415(kind: str) -> None:
    answered = post(SERVICE, "/v1/systemone", content=b"{}", headers={"content-type": kind})
    assert answered.status_code == 415
    assert "application/json" in answered.json()["detail"]


def test_a_charset_after_the_content_type_is_fine() -> None:
    headers = {"content-type": "application/json; charset=utf-8"}
    content = json.dumps(REQUEST).encode()
    assert post(SERVICE, "/v1/systemone", content=content, headers=headers).status_code == 200


def compressed(body: bytes, encoding: str) -> bytes:
    if encoding == "gzip":
        return gzip.compress(body)
    return zstandard.ZstdCompressor(level=19).compress(body)


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_compressed_bodies_are_read(encoding: str) -> None:
    content = compressed(json.dumps(REQUEST).encode(), encoding)
    headers = {"content-encoding": encoding}
    answered = post(SERVICE, "/v1/systemone", content=content, headers=headers)
    assert answered.json()["answers"] == post(SERVICE, "/v1/systemone", REQUEST).json()["answers"]


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_bomb_is_refused_while_it_expands(encoding: str) -> None:
    content = compressed(b" " * 50_000_000, encoding)
    assert len(content) * 1000 < 50_000_001
    answered = post(
        SERVICE, "/v1/systemone", content=content, headers={"content-encoding": encoding}
    )
    assert answered.status_code == 413
    assert "larger than 400000 bytes after decompression" in answered.json()["detail"]


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_what_expands_far_more_than_texts_do_is_refused_below_the_limit(encoding: str) -> None:
    service = service_for(expanded_bytes=64 << 20)
    content = compressed(b'{"state":[' + b"{}," * 2_000_000, encoding)
    answered = post(
        service, "/v1/systemone", content=content, headers={"content-encoding": encoding}
    )
    assert answered.status_code == 413
    limit = max(1 << 20, 200 * len(content))
    says = f"larger than {limit} bytes after decompression, over 200 times what was sent"
    assert says in answered.json()["detail"]


def test_a_large_body_that_expands_like_a_text_is_read() -> None:
    service = service_for(expanded_bytes=64 << 20)
    words = " ".join(str(number) for number in range(80_000))
    content = compressed(json.dumps({**REQUEST, "state": words}).encode(), "gzip")
    answered = post(service, "/v1/systemone", content=content, headers={"content-encoding": "gzip"})
    assert "tokens" in answered.json()["detail"][0]["msg"]


def test_nothing_may_follow_a_gzip_stream() -> None:
    content = compressed(json.dumps(REQUEST).encode(), "gzip") + gzip.compress(b"") * 5_000
    answered = post(SERVICE, "/v1/systemone", content=content, headers={"content-encoding": "gzip"})
    assert answered.status_code == 422
    assert "continues after the end of its gzip stream" in answered.text


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@pytest.mark.parametrize("damage", [lambda b: b[:-9], lambda b: b"x" + b, lambda b: b + b"!"])
def test_damaged_compression_is_refused(encoding: str, damage: Any) -> None:
    content = damage(compressed(json.dumps(REQUEST).encode(), encoding))
    answered = post(
        SERVICE, "/v1/systemone", content=content, headers={"content-encoding": encoding}
    )
    assert answered.status_code == 422, answered.text


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_stream_that_is_cut_off_is_called_so(encoding: str) -> None:
    content = compressed(json.dumps(REQUEST).encode() * 2, encoding)[:-9]
    answered = post(
        SERVICE, "/v1/systemone", content=content, headers={"content-encoding": encoding}
    )
    assert f"is cut off: the {encoding} stream has no end" in answered.text


def test_an_unknown_encoding_is_415() -> None:
    answered = post(SERVICE, "/v1/systemone", content=b"", headers={"content-encoding": "br"})
    assert answered.status_code == 415


@pytest.mark.parametrize("path", ["/v1/systemone", "/v1/chat/completions", "/v1/decide"])
def test_a_large_body_is_413(path: str) -> None:
    answered = post(SERVICE, path, content=b" " * 200_001)
    assert answered.status_code == 413
    assert "200000" in answered.text


def test_a_large_body_without_a_length_is_413_too() -> None:
    async def pieces() -> Any:
        for _ in range(300):
            yield b" " * 1000

    answered = post(SERVICE, "/v1/systemone", content=pieces())
    assert answered.status_code == 413


def test_a_flood_of_headers_is_431() -> None:
    many = {f"x-{n}": "1" for n in range(80)}
    assert post(SERVICE, "/v1/systemone", REQUEST, headers=many).status_code == 431
    large = {"x-large": "1" * 20_000}
    assert post(SERVICE, "/v1/systemone", REQUEST, headers=large).status_code == 431


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/systemone", REQUEST),
        ("/v1/chat/completions", CHAT),
        ("/v1/decisions", DECISIONS),
        ("/v1/decide", {**DECIDE, "model": "x"}),
    ],
)
def test_an_unknown_model_is_a_404_that_lists_the_known_ones(path: str, body: Any) -> None:
    answered = post(SERVICE, path, {**body, "model": "gpt-9"})
    assert answered.status_code == 404
    for name in ("gpt-9", "paths", "default"):
        assert name in answered.text


@pytest.mark.parametrize(
    ("changes", "param", "says"),
    [
        ({"response_format": None}, "response_format", "enums or booleans"),
        ({"response_format": {"type": "json_object"}}, "response_format", "enums or booleans"),
        ({"messages": []}, "messages", "1 to"),
        ({"messages": "hi"}, "messages", "list"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "messages[0].role", "user's"),
        ({"messages": [{"content": "x"}]}, "messages[0].role", "missing"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
            "messages[0].content[0].type",
            "only text",
        ),
        ({"n": 2}, "n", "must be 1"),
        ({"top_logprobs": -1}, "top_logprobs", "whole number"),
        ({"stream": "yes"}, "stream", "true or false"),
    ],
)
def test_chat_says_why_in_openais_shape(changes: Any, param: str, says: str) -> None:
    answered = post(SERVICE, "/v1/chat/completions", {**CHAT, **changes})
    assert answered.status_code == 400
    error = answered.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert error["param"] == param
    assert says in error["message"]


@pytest.mark.parametrize(
    ("property_", "says"),
    [
        ({"type": "string"}, "nothing to decide between"),
        ({"type": "object", "properties": {}}, "nothing to decide between"),
        ({"enum": []}, "1 to 255"),
        ({"enum": ["a", "a"]}, "already"),
        ({"enum": [["a"]]}, "neither a text nor a number"),
        ({"$ref": "#/$defs/None"}, "not defined"),
        ({"$ref": "#/$defs/Loop"}, "references in a row"),
        (7, "must be an object"),
    ],
)
def test_a_property_without_options_is_refused(property_: Any, says: str) -> None:
    schema = {"properties": {"a": property_}, "$defs": {"Loop": {"$ref": "#/$defs/Loop"}}}
    form = {"type": "json_schema", "json_schema": {"schema": schema}}
    answered = post(SERVICE, "/v1/chat/completions", {**CHAT, "response_format": form})
    assert answered.status_code == 400
    assert says in answered.json()["error"]["message"]


@pytest.mark.parametrize(
    ("changes", "param", "says"),
    [
        ({"questions": []}, "questions", "1 to 400"),
        ({"questions": DECISIONS["questions"] * 401}, "questions", "1 to 400"),
        ({"questions": [{"type": "essay"}]}, "questions[0].type", "predicate"),
        ({"questions": [{"type": "predicate"}]}, "questions[0].instructions", "missing"),
        (
            {"questions": [{"type": "predicate", "instructions": ""}]},
            "questions[0].instructions",
            "empty",
        ),
        (
            {"questions": [{"type": "choice", "instructions": "?", "choices": [{"value": "a"}]}]},
            "questions[0].choices",
            "2 to 255",
        ),
        (
            {
                "questions": [
                    {
                        "type": "choice",
                        "instructions": "?",
                        "choices": [{"value": "a"}, {"value": "a"}],
                    }
                ]
            },
            "questions[0].choices[1].value",
            "twice",
        ),
        (
            {"questions": [{"type": "predicate", "instructions": "?", "abstain": True}]},
            "questions[0].abstain",
            "/v1/decide takes it",
        ),
        (
            {"questions": [{"type": "predicate", "instructions": "?", "criteria": {"true": "x"}}]},
            "questions[0].criteria",
            "/v1/decide takes it",
        ),
        ({"input": []}, "input", "1 to"),
        ({"input": 3}, "input", "list of messages"),
        ({"input": [{"type": "image"}]}, "input[0].type", "cannot be read"),
    ],
)
def test_decisions_say_why_in_openais_shape(changes: Any, param: str, says: str) -> None:
    answered = post(SERVICE, "/v1/decisions", {**DECISIONS, **changes})
    assert answered.status_code == 400
    error = answered.json()["error"]
    assert error["param"] == param
    assert says in error["message"]


@pytest.mark.parametrize(
    ("changes", "loc", "says"),
    [
        ({"states": ["s"] * 10_001}, ["states"], "10001 given; there must be 1 to 10000"),
        ({"states": []}, ["states"], "1 to 10000"),
        ({"states": ["s", 3]}, ["states", 1], "text"),
        ({"layout": "sideways"}, ["layout"], "state-first"),
        ({"packing": "loose"}, ["packing"], "apart"),
        ({"keep": "middle"}, ["keep"], "head"),
        ({"order": "random"}, ["order"], "average"),
        ({"lambda": "1"}, ["lambda"], "number"),
        ({"lambda": 0.25}, ["lambda"], "not loaded"),
        ({"lamda": 1}, ["lamda"], "not known"),
    ],
)
def test_decide_names_the_place(changes: Any, loc: list[Any], says: str) -> None:
    answered = post(SERVICE, "/v1/decide", {**DECIDE, **changes})
    assert answered.status_code == 422
    fault = answered.json()["detail"][0]
    assert fault["loc"] == ["body", *loc]
    assert says in fault["msg"]


REFUSED: dict[str, Any] = {
    "lambda": 0.5,
    "layout": "schema-first",
    "packing": "together",
    "keep": "head",
    "order": "average",
    "wide": "in-rounds",
    "explain": True,
    "policy": {},
    "force_policy": False,
}


@pytest.mark.parametrize(
    ("path", "body"),
    [("/v1/systemone", REQUEST), ("/v1/chat/completions", CHAT), ("/v1/decisions", DECISIONS)],
)
def test_settings_of_decide_are_refused_by_the_formats_of_others(path: str, body: Any) -> None:
    for name, value in REFUSED.items():
        answered = post(SERVICE, path, {**body, name: value})
        assert answered.status_code == (422 if path == "/v1/systemone" else 400)
        said = f"{name}: cannot be chosen in this format; /v1/decide takes it"
        assert answered.json()["error"]["message"] == said
    several = post(SERVICE, path, {**body, "order": "average", "policy": {}})
    assert "order: " in several.text
    assert "policy: " in several.text
    nothing = dict.fromkeys(REFUSED)
    theirs = {"user": "u-1", "metadata": {"policy": "x"}, "temperature": 0, "keep_alive": 5}
    assert post(SERVICE, path, {**body, **nothing, **theirs}).status_code == 200


def test_every_setting_of_decide_is_among_the_refused() -> None:
    own = set(decide.REQUEST["properties"]) - {"model", "states", "questions"}
    assert own == set(REFUSED) == set(OWN_FIELDS)


def test_paths_and_methods_that_do_not_exist() -> None:
    missing = get(SERVICE, "/v2/anything")
    assert missing.status_code == 404
    wrong = get(SERVICE, "/v1/chat/completions")
    assert wrong.status_code == 405
    assert wrong.json()["error"]["code"] == "method_not_allowed"
    assert wrong.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/v1/v1/systemone", 404, "no such path; /docs lists"),
        ("/v1/systemone", 405, "takes another method; /docs says"),
        ("/page/nothing.js", 404, "the page has no file 'nothing.js'"),
    ],
)
def test_a_wrong_path_or_method_is_told_where_to_look(path: str, status: int, says: str) -> None:
    answered = get(SERVICE, path)
    assert answered.status_code == status
    assert says in answered.json()["detail"]


@pytest.mark.parametrize("path", ["systemone", "decide", "chat/completions"])
def test_a_question_id_that_cannot_be_written_is_refused(path: str) -> None:
    bodies = {
        "systemone": {**REQUEST, "questions": {"\ud800": "Is it?"}},
        "decide": {"states": ["x"], "questions": {"\ud800": "Is it?"}},
        "chat/completions": {
            **CHAT,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"schema": {"properties": {"\ud800": {"type": "boolean"}}}},
            },
        },
    }
    answered = post(SERVICE, f"/v1/{path}", content=json.dumps(bodies[path]).encode())
    assert answered.status_code in (400, 422)
    assert "lone surrogate U+D800" in answered.text


def test_a_number_too_large_is_refused_where_nobody_reads_it() -> None:
    content = json.dumps({**REQUEST, "unknown": {"x": "HUGE"}}).replace('"HUGE"', "1e999")
    answered = post(SERVICE, "/v1/systemone", content=content.encode())
    assert answered.status_code == 422
    assert "1e999, a number too large" in answered.text


def test_an_answer_lists_few_faults_and_quotes_little() -> None:
    service = service_for()
    many = {"k" * 1_000 + str(n): "\0" for n in range(400)}
    answered = post(service, "/v1/systemone", {**REQUEST, "questions": many})
    assert answered.status_code == 422
    assert len(answered.json()["detail"]) == 100
    assert len(answered.content) < 100_000
    body = {"states": ["x"], "questions": {"q": "Is it?"}, "layout": "y" * 500_000}
    assert len(post(service, "/v1/decide", body).content) < 1_000


def test_a_batch_of_long_states_counts_all_of_them() -> None:
    body = {"states": ["x", "y" * 600_000], "questions": {"q": "Is it?"}}
    answered = post(service_for(), "/v1/decide", body)
    assert answered.json()["detail"][0]["loc"] == ["body", "states", 1]
    assert "524288 characters" in answered.text
