"""An MCP server over standard input and output whose tools are schemas.

It stands on the official ``mcp`` package (the extra ``[mcp]``, sixteen packages on top of the base
install): the protocol has two eras at once, with and without a handshake, and following both is
that package's work, not ours.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server

from thisthat import __version__
from thisthat.decide.asking import Asks
from thisthat.errors import ThisThatError
from thisthat.tools.schema_tool import SchemaTool

_INSTRUCTIONS = (
    "Each tool answers fixed questions about a state with calibrated probabilities. Compare them "
    "with a threshold of your own, or follow the outcome where there is one."
)


def tools_server(tools: Mapping[str, SchemaTool], decider: Asks, **options: Any) -> Server[Any]:
    """A server with these tools; ``options`` are those of ``DecideOptions``."""

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in tools.values()])

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            return _failed(f"there is no tool {params.name!r}; there are {', '.join(tools)}")
        try:
            found = await tool.call(decider, params.arguments or {}, **options)
        except ThisThatError as error:
            return _failed(str(error))
        return types.CallToolResult(content=[_text(json.dumps(found))], structured_content=found)

    return Server(
        "thisthat",
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def run_tools(tools: Mapping[str, SchemaTool], decider: Asks, **options: Any) -> None:
    """Serve until standard input ends."""
    server = tools_server(tools, decider, **options)

    async def run() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    asyncio.run(run())


def _described(tool: SchemaTool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=True, idempotent_hint=True, open_world_hint=False
        ),
    )


def _failed(message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[_text(message)], is_error=True)


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)
