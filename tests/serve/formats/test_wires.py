"""Each wire format answers with the library's own numbers, in its own shape."""

import json
import math
from dataclasses import replace
from datetime import date, datetime, timezone
from typing import Any

import openai.types
import openai.types.chat
import pytest

from tests.path_engine import path_decider
from tests.serve.support import QUESTIONS, REQUEST, get, opened, post, service_for
from thisthat.decide.decider import Decider
from thisthat.questions import Boolean, Choice, Score, ScoreAnswer
from thisthat.questions_json import questions_from_json

DECIDER = path_decider()


def library(state: Any = REQUEST["state"], questions: Any = QUESTIONS, **how: Any) -> Any:
    return DECIDER.decide(state, questions_from_json(questions), **how)


def test_systemone_gives_the_librarys_numbers() -> None:
    answered = post(service_for(), "/v1/systemone", REQUEST)
    assert answered.status_code == 200
    body = answered.json()
    expected = library()
    assert body["model"] == body["checkpoint"] == "paths"
    assert (body["version"], body["lambda"]) == ("1", 0.5)
    assert answered.headers["x-thisthat-lambda"] == "0.5"
    assert body["usage"]["input_tokens"] == expected.usage.input_tokens
    assert body["usage"]["output_tokens"] == 0
    answers = body["answers"]
    assert list(answers) == list(QUESTIONS)
    assert answers["lost"] == {"type": "noul", "noul": expected["lost"].yes}
    for name in ("queue", "team", "only"):
        assert answers[name] == {
            "type": "choice",
            "choice": expected[name].best,
            "confidence": expected[name].confidence,
            "probabilities": expected[name].probabilities,
        }
        assert sum(answers[name]["probabilities"].values()) == 1.0
    assert answers["only"]["confidence"] == 1.0
    score = answers["anger"]
    assert score["probabilities"] == expected["anger"].probabilities
    assert score["legend"] == {"0": "calm", "1": "annoyed", "2": "furious"}
    assert sum(score["probabilities"].values()) == 1.0
    assert score["score"] == sum(int(i) * p for i, p in score["probabilities"].items())


def test_confidence_follows_the_wire_formats_formulas() -> None:
    answers = post(service_for(), "/v1/systemone", REQUEST).json()["answers"]
    team = answers["team"]["probabilities"].values()
    assert answers["team"]["confidence"] == pytest.approx((max(team) - 1 / 3) / (1 - 1 / 3))
    levels = list(answers["anger"]["probabilities"].values())
    mode = levels.index(max(levels))
    spread = sum(p * abs(i - mode) for i, p in enumerate(levels))
    width = sum(abs(i - 1) for i in range(3)) / 3
    assert answers["anger"]["confidence"] == pytest.approx(max(0, 1 - spread / width))


def test_a_question_that_may_abstain_says_how_probable_that_was() -> None:
    questions = {
        "b": {"type": "noul", "abstain": True},
        "s": {"type": "score", "criteria": ["low", "high"], "abstain": "no level"},
        "c": {"type": "choice", "criteria": ["x", "y"], "abstain": True},
    }
    answers = post(service_for(), "/v1/systemone", {**REQUEST, "questions": questions}).json()
    expected = library(questions=questions)
    for name, answer in answers["answers"].items():
        assert answer["abstain"] == expected[name].probabilities[expected[name].abstain]
    score = answers["answers"]["s"]
    assert list(score["probabilities"]) == ["0", "1"]
    assert math.isclose(sum(score["probabilities"].values()), 1)


def test_names_that_look_like_paths_keep_their_answers() -> None:
    questions = {"a.b[0]": "Is it?", "": "x"} | {"ünï\n": "Is it?"}
    del questions[""]
    body = post(service_for(), "/v1/systemone", {**REQUEST, "questions": questions}).json()
    assert list(body["answers"]) == list(questions)


def test_decisions_answers_in_order_with_typed_values() -> None:
    questions = [
        {"type": "predicate", "instructions": "A parcel is lost."},
        {
            "type": "choice",
            "name": "queue",
            "instructions": [{"type": "input_text", "text": "Which team?"}],
            "choices": [{"value": "true"}, {"value": True, "description": "yes"}, {"value": "x"}],
        },
        {
            "type": "score",
            "instructions": "How angry?",
            "levels": [{"label": "calm"}, {"label": "furious", "description": "shouts"}],
        },
    ]
    body = {"model": "jev-latest", "input": "It never came.", "questions": questions}
    answered = post(service_for(), "/v1/decisions", body)
    assert answered.status_code == 200, answered.text
    decision = openai.types.Decision.model_validate(answered.json())
    expected = DECIDER.decide(
        "It never came.",
        {
            "0": Boolean("A parcel is lost."),
            "1": Choice({"true": None, "true (boolean)": "yes", "x": None}, "Which team?"),
            "2": Score(["calm", "furious: shouts"], "How angry?"),
        },
    )
    predicate, choice, score = answered.json()["answers"]
    assert predicate == {
        "type": "predicate",
        "name": None,
        "probability": expected["0"].probabilities["yes"],
    }
    assert [entry["value"] for entry in choice["probabilities"]] == ["true", True, "x"]
    assert [entry["probability"] for entry in choice["probabilities"]] == list(
        expected["1"].probabilities.values()
    )
    assert choice["name"] == "queue"
    third = expected["2"]
    assert isinstance(third, ScoreAnswer)
    assert score["score"] == third.expected
    assert [entry["label"] for entry in score["probabilities"]] == ["calm", "furious"]
    assert decision.usage.output_tokens == 0
    assert decision.usage.total_tokens == expected.usage.input_tokens


@pytest.mark.parametrize(
    ("given", "state"),
    [
        ([{"role": "user", "content": "It never came."}], "It never came."),
        ([{"role": "user", "content": [{"type": "input_json", "data": {"a": 1}}]}], {"a": 1}),
        (
            [
                {"role": "developer", "content": [{"type": "input_text", "text": "Be kind."}]},
                {"type": "function_call", "call_id": "1", "name": "find", "arguments": '{"n":1}'},
                {"type": "function_call_output", "call_id": "1", "output": "nothing"},
            ],
            'developer: Be kind.\n\ncall find: {"n":1}\n\noutput: nothing',
        ),
    ],
)
def test_an_input_of_items_becomes_one_state(given: Any, state: Any) -> None:
    questions = [{"type": "predicate", "instructions": "Is it?"}]
    body = {"model": "default", "input": given, "questions": questions}
    answer = post(service_for(), "/v1/decisions", body).json()["answers"][0]
    assert answer["probability"] == DECIDER.ask(state, "Is it?").yes


def chat_body(properties: Any, **more: Any) -> dict[str, Any]:
    return {
        "model": "default",
        "messages": [
            {"role": "system", "content": "You sort mail."},
            {"role": "user", "content": [{"type": "text", "text": "It never came."}]},
            {"role": "user", "content": "Decide."},
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "x", "schema": {"type": "object", "properties": properties}},
        },
        **more,
    }


STATE = "system: You sort mail.\n\nuser: It never came."


def test_chat_chooses_between_the_enum_values_of_the_schema() -> None:
    properties = {
        "queue": {"type": "string", "enum": ["billing", "shipping"], "description": "Which team?"},
        "lost": {"type": "boolean"},
        "count": {"enum": [1, 2, 3]},
    }
    answered = post(service_for(), "/v1/chat/completions", chat_body(properties, logprobs=True))
    assert answered.status_code == 200, answered.text
    completion = openai.types.chat.ChatCompletion.model_validate(answered.json())
    expected = DECIDER.decide(
        STATE,
        {
            "queue": Choice(["billing", "shipping"], "Decide.\nWhich team?"),
            "lost": Boolean("Decide.\nlost"),
            "count": Choice(["1", "2", "3"], "Decide.\ncount"),
        },
    )
    content = completion.choices[0].message.content
    assert content is not None
    chosen = json.loads(content)
    assert chosen["queue"] == expected["queue"].best_name
    assert chosen["lost"] is (expected["lost"].best_name == "yes")
    assert chosen["count"] == int(expected["count"].best_name)
    assert completion.usage is not None
    assert completion.usage.completion_tokens == 0
    logprobs = completion.choices[0].logprobs
    assert logprobs is not None
    assert logprobs.content is not None
    first = logprobs.content[0]
    assert {top.token: top.logprob for top in first.top_logprobs} == {
        name: math.log(p) for name, p in expected["queue"].probabilities.items()
    }
    assert first.token == chosen["queue"]
    assert [top.token for top in logprobs.content[1].top_logprobs] == sorted(
        ["true", "false"], reverse=chosen["lost"]
    )


def test_a_single_property_asks_the_message_as_it_is() -> None:
    body = chat_body({"answer": {"enum": ["a", "b"]}}, logprobs=True, top_logprobs=1)
    completion = post(service_for(), "/v1/chat/completions", body).json()
    position = completion["choices"][0]["logprobs"]["content"][0]
    expected = DECIDER.ask(STATE, Choice(["a", "b"], "Decide."))
    assert position["token"] == expected.best
    assert position["logprob"] == math.log(max(expected.probabilities.values()))
    assert len(position["top_logprobs"]) == 1


def test_a_boolean_beside_an_empty_message_asks_its_name() -> None:
    body = chat_body({"lost": {"type": "boolean"}}, logprobs=True, top_logprobs=1)
    body["messages"][-1]["content"] = ""
    completion = post(service_for(), "/v1/chat/completions", body).json()
    position = completion["choices"][0]["logprobs"]["content"][0]
    expected = DECIDER.ask(STATE, "lost").probabilities
    assert position["logprob"] == math.log(max(expected.values()))


def test_chat_follows_references_and_reads_null_as_abstaining() -> None:
    body = chat_body(
        {"level": {"anyOf": [{"$ref": "#/$defs/Level"}, {"type": "null"}]}}, logprobs=True
    )
    schema = body["response_format"]["json_schema"]["schema"]
    schema["$defs"] = {"Level": {"enum": ["low", "high"], "type": "string"}}
    completion = post(service_for(), "/v1/chat/completions", body).json()
    expected = DECIDER.ask(STATE, Choice(["low", "high"], "Decide.", abstain=True))
    content = json.loads(completion["choices"][0]["message"]["content"])
    assert content == {"level": expected.best}
    tokens = completion["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    assert {entry["token"] for entry in tokens} == {"low", "high", "null"}


def test_a_chat_stream_is_one_chunk_and_done() -> None:
    body = chat_body({"a": {"enum": ["x", "y"]}}, stream=True)
    body["stream_options"] = {"include_usage": True}
    answered = post(service_for(), "/v1/chat/completions", body)
    assert answered.headers["content-type"].startswith("text/event-stream")
    first, done = [line for line in answered.text.split("\n\n") if line]
    assert done == "data: [DONE]"
    chunk = openai.types.chat.ChatCompletionChunk.model_validate_json(first.removeprefix("data: "))
    assert chunk.choices[0].delta.content is not None
    assert chunk.usage is not None


def test_decide_averages_over_orders_as_the_library_does() -> None:
    body = {"states": ["one", "two"], "questions": QUESTIONS, "order": "average"}
    lines = [json.loads(line) for line in post(service_for(), "/v1/decide", body).text.splitlines()]
    for state, line in zip(["one", "two"], lines, strict=True):
        expected = library(state, order="average").as_dict()
        assert line["answers"] == expected["answers"]
        assert line["usage"]["extra_tokens"] == expected["usage"]["extra_tokens"] > 0


@pytest.mark.parametrize("layout", ["state-first", "schema-first"])
@pytest.mark.parametrize("packing", ["apart", "together"])
def test_decide_gives_a_line_per_state_in_order(layout: str, packing: str) -> None:
    states = [f"state {'x' * (n * 37 % 300)} {n}" for n in range(90)] + ["y" * 2000]
    body = {"states": states, "questions": QUESTIONS, "layout": layout, "packing": packing}
    answered = post(service_for(), "/v1/decide", body)
    assert answered.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in answered.text.splitlines()]
    assert [line["index"] for line in lines] == list(range(91))
    for state, line in zip(states[:90], lines[:90], strict=True):
        expected = library(state, layout=layout, packing=packing).as_dict()
        assert line["answers"] == expected["answers"]
        assert (line["checkpoint"], line["lambda"]) == ("paths", 0.5)
    assert lines[90]["error"]["field"] == "state"
    assert "2000 tokens" in lines[90]["error"]["message"]


def test_decide_cuts_a_long_state_only_when_asked_to() -> None:
    body = {"states": ["y" * 2000], "questions": {"q": "Is it?"}, "keep": "tail"}
    line = post(service_for(), "/v1/decide", body).json()
    assert line["cut"] == {"keep": "tail", "state_tokens": 2000, "kept_tokens": 1000}


def test_decide_takes_a_lambda_that_is_loaded() -> None:
    service = service_for(also_lambdas=(0.0, 1.0))
    body: dict[str, Any] = {"states": ["s"], "questions": {"q": "Is it?"}, "lambda": 1.0}
    assert post(service, "/v1/decide", body).json()["lambda"] == 1.0
    refused = post(service, "/v1/decide", {**body, "lambda": 0.3})
    assert refused.status_code == 422
    assert "0, 0.5, 1" in refused.json()["detail"][0]["msg"]


def test_every_wire_reaches_another_checkpoint_by_its_name() -> None:
    service = service_for(also_checkpoints=("worlds", "twin=owner/worlds"), aliases=("mine",))
    chat = chat_body({"lost": {"type": "boolean"}})
    decisions = {"input": "s", "questions": [{"type": "predicate", "instructions": "Is it?"}]}
    for name, checkpoint in (("worlds", "worlds"), ("twin", "owner/worlds"), ("mine", "paths")):
        for path, body in (
            ("/v1/systemone", REQUEST),
            ("/v1/chat/completions", chat),
            ("/v1/decisions", decisions),
            ("/v1/decide", {"states": ["s"], "questions": {"q": "Is it?"}, "lambda": 0.5}),
        ):
            answered = post(service, path, {**body, "model": name})
            assert answered.status_code == 200, answered.text
            assert answered.headers["x-thisthat-checkpoint"] == checkpoint, path
        assert get(service, f"/v1/models/{name}").json()["canonical_slug"] == checkpoint
    listed = [each["id"] for each in get(service, "/v1/models").json()["data"]]
    assert listed == ["paths", "default", "jev-latest", "mine", "worlds", "twin"]
    about = get(service, "/page/about").json()["checkpoints"]
    assert [(each["model"], each["checkpoint"]) for each in about] == [
        ("default", "paths"),
        ("worlds", "worlds"),
        ("twin", "owner/worlds"),
    ]


def test_another_checkpoint_answers_at_its_own_lambda_alone() -> None:
    service = service_for(also_checkpoints=("worlds",), also_lambdas=(0.0,))
    body = {"states": ["s"], "questions": {"q": "Is it?"}, "lambda": 0.0, "model": "worlds"}
    refused = post(service, "/v1/decide", body)
    assert refused.status_code == 422
    assert refused.json()["detail"][0]["msg"] == "0 is not loaded; loaded are 0.5"


def test_models_have_the_date_of_their_checkpoint() -> None:
    def open_decider(ref: str, lam: float | None) -> Decider:
        decider = opened(ref, lam)
        decider.source = replace(decider.source, released=date(2026, 11, 15))
        return decider

    body = get(service_for(open_decider), "/v1/models").json()
    moment = datetime(2026, 11, 15, tzinfo=timezone.utc).timestamp()
    assert {entry["release_date"] for entry in body["models"]} == {"2026-11-15"}
    assert {entry["created"] for entry in body["data"]} == {moment}


def test_models_come_in_both_shapes() -> None:
    service = service_for(aliases=("mine",))
    body = get(service, "/v1/models").json()
    names = ["paths", "default", "jev-latest", "mine"]
    assert [entry["id"] for entry in body["data"]] == names
    assert [entry["name"] for entry in body["models"]] == names
    assert body["object"] == "list"
    openai.types.Model.model_validate(get(service, "/v1/models/mine").json())
    missing = get(service, "/v1/models/gpt-9")
    assert missing.status_code == 404
    assert "known are paths, default, mine" in missing.json()["error"]["message"]
    for name in names:
        answered = post(service, "/v1/systemone", {**REQUEST, "model": name})
        assert answered.json()["model"] == "paths"


def test_a_model_whose_name_has_a_slash_is_found_where_the_list_says() -> None:
    service = service_for(aliases=("owner/name",))
    listed = get(service, "/v1/models").json()["data"][-1]
    for path in (listed["links"]["details"], "/v1/models/owner/name"):
        found = get(service, path)
        assert (found.status_code, found.json()["id"]) == (200, "owner/name")
    assert get(service, "/v1/models/owner").status_code == 404
    assert get(service, "/v1/models/").json() == get(service, "/v1/models").json()


def test_a_request_without_a_model_is_answered_by_the_loaded_one() -> None:
    body = {name: value for name, value in REQUEST.items() if name != "model"}
    answered = post(service_for(), "/v1/systemone", body)
    assert answered.status_code == 200
    assert answered.json() == post(service_for(), "/v1/systemone", REQUEST).json()


def test_models_have_every_field_openrouters_clients_require() -> None:
    body = get(service_for(), "/v1/models").json()
    assert body["total_count"] == len(body["data"])
    assert body["links"] == {"next": None}
    for entry in body["data"]:
        assert entry["name"] == entry["id"]
        assert entry["canonical_slug"] == "paths"
        assert entry["context_length"] == entry["top_provider"]["context_length"] > 0
        assert entry["architecture"]["output_modalities"] == ["decisions"]
        assert entry["pricing"] == {"prompt": "0", "completion": "0"}
        for empty in ("default_parameters", "per_request_limits", "supported_voices"):
            assert entry[empty] is None


def test_systemone_errors_also_come_in_openrouters_shape() -> None:
    service = service_for(keys=("right",))
    refused = post(service, "/v1/systemone", REQUEST)
    assert refused.status_code == 401
    assert refused.json()["error"] == {"code": 401, "message": refused.json()["detail"]}
    headers = {"authorization": "Bearer right"}
    invalid = post(service, "/v1/systemone", {**REQUEST, "state": None}, headers=headers)
    assert invalid.json()["error"]["code"] == 422
    assert invalid.json()["error"]["message"].startswith("state: ")
