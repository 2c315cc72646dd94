"""A real client of the protocol, in both of its eras, and the command as its subprocess."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import Client, StdioServerParameters

from tests.calibrate.test_policy import POLICY
from tests.examples.conftest import EXAMPLES
from tests.lab.train import tiny
from tests.path_engine import path_decider
from tests.remote.test_real_model import SCHEMA
from tests.serve.support import on_loopback, service_for
from thisthat.decide.opening import open_decider
from thisthat.engine import select
from thisthat.questions_json import question_as_json
from thisthat.tools.mcp import tools_server
from thisthat.tools.schema_tool import SchemaTool

ERAS = ["legacy", "auto"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A tiny checkpoint and two schemas, with a store of their own."""
    folder = tmp_path_factory.mktemp("mcp")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THISTHAT_HOME", str(folder / "store"))
        patch.setenv("CUDA_VISIBLE_DEVICES", "")
        patch.setattr(select, "has_nvidia_gpu", lambda: False)
        tiny.write_checkpoint(folder / "model")
        schema = {name: question_as_json(question) for name, question in SCHEMA.items()}
        (folder / "triage.json").write_text(json.dumps(schema))
        (folder / "is-red.json").write_text('{"red": "Is it red?"}')
        yield folder


def command(folder: Path, *more: str) -> StdioServerParameters:
    schemas = [str(folder / "triage.json"), str(folder / "is-red.json")]
    ran = ["-m", "thisthat", "mcp", *schemas, *more]
    return StdioServerParameters(command=sys.executable, args=ran, env=dict(os.environ))


@pytest.mark.parametrize("era", ERAS)
def test_an_agent_lists_and_calls_the_tools(folder: Path, era: str) -> None:
    async def session() -> tuple[Any, list[Any]]:
        at = command(folder, "--checkpoint", str(folder / "model"), "--engine", "onnx")
        async with Client(at, mode=era, read_timeout_seconds=60) as client:
            listed = await client.list_tools()
            states: list[Any] = ["red 1 n1", {"colour": "green"}]
            calls = [client.call_tool("triage", {"state": state}) for state in states]
            calls.append(client.call_tool("is-red", {"state": "red"}))
            calls.append(client.call_tool("triage", {"state": 7}))
            calls.append(client.call_tool("other", {"state": "red"}))
            return listed, list(await asyncio.gather(*calls))

    listed, found = asyncio.run(session())
    assert [tool.name for tool in listed.tools] == ["triage", "is-red"]
    assert listed.tools[0].annotations.read_only_hint
    assert "Which colour? (red; green; blue)" in listed.tools[0].description
    with open_decider(folder / "model", engine="onnx") as decider:
        for state, given in zip(["red 1 n1", {"colour": "green"}], found[:2], strict=True):
            expected = decider.decide(state, SCHEMA).as_dict()["answers"]
            answers = given.structured_content["answers"]
            assert not given.is_error
            assert json.loads(given.content[0].text) == given.structured_content
            for name in SCHEMA:
                assert answers[name]["probabilities"] == expected[name]["probabilities"]
    assert set(found[2].structured_content["answers"]) == {"red"}
    assert found[3].is_error
    assert "must be text, a JSON object or a JSON array" in found[3].content[0].text
    assert found[4].is_error
    assert "there is no tool 'other'; there are triage, is-red" in found[4].content[0].text


def test_the_example_is_served_as_its_list_says(folder: Path) -> None:
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    (entry,) = re.findall(r"^```json\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    (server,) = json.loads(entry)["mcpServers"].values()
    assert server["command"] == "/path/to/thisthat/.venv/bin/thisthat"
    ran = [each.replace("/path/to/thisthat", str(EXAMPLES.parent)) for each in server["args"]]
    tiny_model = ["--checkpoint", str(folder / "model"), "--engine", "onnx"]
    at = StdioServerParameters(
        command=sys.executable, args=["-m", "thisthat", *ran, *tiny_model], env=dict(os.environ)
    )

    async def session() -> tuple[Any, Any]:
        async with Client(at, read_timeout_seconds=60) as client:
            listed = await client.list_tools()
            return listed, await client.call_tool("command_risk", {"state": "git status"})

    listed, found = asyncio.run(session())
    assert [tool.name for tool in listed.tools] == ["command_risk"]
    assert "How risky is the command?" in listed.tools[0].description
    assert list(found.structured_content["answers"]["risk"]["probabilities"]) == ["0", "1", "2"]


def test_a_policy_for_something_else_ends_the_command_before_a_call(
    folder: Path, tmp_path: Path
) -> None:
    POLICY.save(tmp_path / "other.policy.json")
    ran = [sys.executable, "-m", "thisthat", "mcp", str(folder / "is-red.json"), "--engine", "onnx"]
    more = ["--checkpoint", str(folder / "model"), "--policy", str(tmp_path / "other.policy.json")]
    done = subprocess.run([*ran, *more], input="", capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "error: policy: was fitted for something else: the schema differs"
    )


def test_a_server_can_answer_instead(folder: Path) -> None:
    async def session(address: str) -> Any:
        async with Client(command(folder, "--server", address), read_timeout_seconds=60) as client:
            return await client.call_tool("is-red", {"state": "red"})

    with on_loopback(service_for()) as address:
        found = asyncio.run(session(address))
    expected = path_decider().ask("red", "Is it red?")
    assert found.structured_content["answers"]["red"]["probabilities"] == expected.probabilities


@pytest.mark.parametrize("era", ERAS)
def test_a_server_that_is_away_is_an_error_of_the_call(era: str) -> None:
    from thisthat import connect

    tools = {"t": SchemaTool("t", SCHEMA)}

    async def session() -> Any:
        server = tools_server(tools, connect("http://127.0.0.1:9"))
        async with Client(server, mode=era) as client:
            return await client.call_tool("t", {"state": "red"})

    found = asyncio.run(session())
    assert found.is_error
    assert "http://127.0.0.1:9/v1/decide: no answer" in found.content[0].text
