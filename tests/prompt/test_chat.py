import pytest

from tests.prompt.byte_tokenizer import decode, encode
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
