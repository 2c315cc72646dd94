"""The chat template around one user turn, as token ids: what comes before it and after it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from thisthat.errors import CheckpointError
from thisthat.prompt.builder import ChatFrame
from thisthat.prompt.labels import Encode

_CONTENT = "⟦content of the user turn⟧"
_DAY = datetime(2024, 7, 26)
_THINKING = (
    ("<think>\n", "</think>\n\n"),
    ("<think>", "</think>\n\n"),
    ("<|channel>thought\n", "<channel|>"),
)


def chat_frame(
    template: str, encode: Encode, special_tokens: Mapping[str, str] | None = None
) -> ChatFrame:
    """Render ``template`` around a user turn with thinking switched off.

    A template that writes the date writes the same one every day, so that answers do not change
    overnight. ``encode`` must give special tokens their own ids. Raises CheckpointError when the
    template does not show the user's text exactly once.
    """
    from jinja2 import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def refuse(message: str) -> None:
        raise TemplateError(message)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.globals |= {"raise_exception": refuse, "strftime_now": _DAY.strftime}
    try:
        text = environment.from_string(template).render(
            messages=[{"role": "user", "content": _CONTENT}],
            add_generation_prompt=True,
            enable_thinking=False,
            **(special_tokens or {}),
        )
    except TemplateError as error:
        raise CheckpointError(f"the chat template cannot be rendered: {error}") from error
    if text.count(_CONTENT) != 1:
        raise CheckpointError(
            f"the chat template shows the user's text {text.count(_CONTENT)} times, not once"
        )
    head, tail = text.split(_CONTENT)
    for opened, closed in _THINKING:
        if tail.endswith(opened):
            tail += closed
            break
    return ChatFrame(tuple(encode(head)), tuple(encode(tail)))
