import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.lab.train import tiny
from tests.prompt.byte_tokenizer import decode, encode
from thisthat import Boolean
from thisthat.checkpoint import open_checkpoint
from thisthat.decide.opening import builder_of
from thisthat.errors import CheckpointError
from thisthat.prompt.chat import chat_frame

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is false %}<think>\n\n</think>\n\n{% else %}<think>\n{% endif %}"
    "{% endif %}"
)


def test_head_and_tail_surround_the_user_turn() -> None:
    frame = chat_frame(CHATML, encode)
    assert decode(frame.head) == "<|im_start|>user\n"
    assert decode(frame.tail) == "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"


def test_thinking_that_the_template_leaves_open_is_closed() -> None:
    frame = chat_frame("{{ messages[0].content }}<assistant>{{ '<think>\n' }}", encode)
    assert decode(frame.tail) == "<assistant><think>\n</think>\n\n"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("nothing", "shows the user's text 0 times"),
        ("{{ messages[0].content }}{{ messages[0].content }}", "shows the user's text 2 times"),
        ("{% for %}", "cannot be rendered"),
        ("{{ messages.append(1) }}", "cannot be rendered"),
    ],
)
def test_templates_that_cannot_be_used_are_refused(template: str, message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        chat_frame(template, encode)


TEMPLATES: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("chat_templates.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_templates_of_instruction_models(name: str) -> None:
    known = TEMPLATES[name]
    frame = chat_frame(known["template"], encode, known["special"])
    assert decode(frame.head) == known["head"]
    assert decode(frame.tail) == known["tail"]


def test_a_template_can_refuse() -> None:
    with pytest.raises(CheckpointError, match="cannot be rendered: no user turns"):
        chat_frame("{{ raise_exception('no user turns') }}", encode)


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_plain_folder_is_asked_in_its_template(name: str, tmp_path: Path) -> None:
    known = TEMPLATES[name]
    folder = tiny.write_checkpoint(tmp_path / "some-instruct")
    marks = sorted(set(re.findall(r"<[^<>]+>|\[/?INST\]", known["head"] + known["tail"])))
    tokenizer = tiny.tokenizer()
    tokenizer.add_special_tokens(marks)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "chat_template": known["template"],
        **{key: {"content": text} for key, text in known["special"].items()},
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    checkpoint = open_checkpoint(folder)
    assert checkpoint.card.prompt.chat
    (row,) = builder_of(checkpoint).render("<s> red", [Boolean("Red?")], limit=1000).rows
    ids = [*row.trunk, *row.branches[0].tokens]
    inside = "Context:\n<s> red\n\nQuestion: Red?\nOptions:\n(A) no\n(B) yes"
    assert checkpoint.decode(ids) == f"{known['head']}{inside}{known['tail']}Answer: ("
    special = {checkpoint.encode_template(mark)[0] for mark in marks}
    # What the template writes are special tokens; the same text in a state is plain.
    assert sum(token in special for token in ids) == len(
        re.findall("|".join(map(re.escape, marks)), known["head"] + known["tail"])
    )


@pytest.mark.parametrize(("name", "chat"), [("some-base", False), ("database-7b-it", True)])
def test_a_base_with_a_template_is_read_without(name: str, chat: bool, tmp_path: Path) -> None:
    folder = tiny.write_checkpoint(tmp_path / name)
    (folder / "chat_template.jinja").write_text(TEMPLATES["Qwen3"]["template"])
    assert open_checkpoint(folder).card.prompt.chat == chat


def test_the_default_template_of_several_is_taken(tmp_path: Path) -> None:
    folder = tiny.write_checkpoint(tmp_path / "several")
    named = [{"name": "tools", "template": "no"}, {"name": "default", "template": CHATML}]
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    assert open_checkpoint(folder).chat_template == CHATML
