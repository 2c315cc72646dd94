"""Random trees and small random models for the engine tests, and the slow, plain way to answer."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from transformers import AutoConfig, AutoModelForCausalLM

from thisthat.engine import bidirectional
from thisthat.engine.rows import Branch, Row, RowResult, Slot, Tokens

VOCABULARY = 64
LABELS = tuple(range(3, 15))
LARGE_BIAS = 100.0
SHARED = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 256,
    "initializer_range": 0.2,
}
HYBRID = {
    **SHARED,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_conv_kernel_dim": 4,
}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {**SHARED, "num_hidden_layers": 2}),
    "qwen2": (
        "qwen2",
        {
            **SHARED,
            "num_hidden_layers": 2,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
        },
    ),
    "qwen3": ("qwen3", {**SHARED, "num_hidden_layers": 2, "tie_word_embeddings": True}),
    "gpt2": (
        "gpt2",
        {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256, "vocab_size": VOCABULARY}
        | {"initializer_range": 0.2},
    ),
    "gemma2": (
        "gemma2",
        {**SHARED, "num_hidden_layers": 2, "sliding_window": 7, "final_logit_softcapping": 5.0},
    ),
    "mistral": ("mistral", {**SHARED, "num_hidden_layers": 2, "sliding_window": 7}),
    "gpt_neo": (
        "gpt_neo",
        {"hidden_size": 32, "num_layers": 2, "num_heads": 4, "vocab_size": VOCABULARY}
        | {"attention_types": [[["global", "local"], 1]], "window_size": 5}
        | {"max_position_embeddings": 256, "initializer_range": 0.2},
    ),
    "mamba": ("mamba", {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": VOCABULARY}),
    "granite": ("granite", {**SHARED, "num_hidden_layers": 2, "logits_scaling": 3.0}),
    "bloom": ("bloom", {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": VOCABULARY}),
    "hybrid2": (
        "qwen3_5_text",
        {
            **HYBRID,
            "num_hidden_layers": 2,
            "layer_types": ["linear_attention", "full_attention"],
        },
    ),
    "hybrid4": ("qwen3_5_text", {**HYBRID, "num_hidden_layers": 4}),
}


def random_model(name: str, **changes: Any) -> Any:
    """A small model with weights large enough that every token matters.

    Biases of its keys are large where rotation is slow, as in trained models.
    """
    torch.manual_seed(11)
    kind, settings = MODELS[name]
    config = AutoConfig.for_model(kind, **settings | changes)
    model = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for part, values in model.named_parameters():
            if part.endswith("_proj.bias"):
                values.normal_()
            if part.endswith("k_proj.bias"):
                halves = values.view(config.num_key_value_heads, 2, -1)
                halves[..., -(halves.shape[-1] // 4) :] *= LARGE_BIAS
    return model


def path_by_path(model: Any, row: Row) -> list[np.ndarray]:
    """Each path of the tree read alone by the whole model: what every engine must give."""
    answers = []
    for branch in row.branches:
        path = row.prefix + row.trunk + branch.tokens
        if not branch.slots:
            continue
        mask = None if row.opened == 0 else open_mask(row, len(path))
        with torch.no_grad():
            output = model(torch.tensor([path]), attention_mask=mask, use_cache=False)
        logits = output.logits[0]
        start = len(row.prefix) + len(row.trunk)
        answers += [
            logits[start + slot.at, list(LABELS[: slot.options])].numpy() for slot in branch.slots
        ]
    return answers


def features_path_by_path(model: Any, row: Row) -> np.ndarray:
    """Hidden states [slots, layers, 3, width] of every path read alone by the whole model."""
    found = []
    start, end = (len(row.prefix) + place for place in row.state)
    for branch in row.branches:
        path = row.prefix + row.trunk + branch.tokens
        mask = None if row.opened == 0 else open_mask(row, len(path))
        with torch.no_grad():
            output = model(
                torch.tensor([path]),
                attention_mask=mask,
                use_cache=False,
                output_hidden_states=True,
            )
        after = [output.hidden_states[layer][0].numpy() for layer in row.layers]
        for slot in branch.slots:
            at = len(row.prefix) + len(row.trunk) + slot.at
            each = [[one[start:end].mean(0), one[end - 1], one[at]] for one in after]
            found.append(np.array(each))
    return np.array(found)


def open_mask(row: Row, length: int) -> torch.Tensor:
    """The additive mask of a path, from the rule itself: who is before you, who shares a block."""
    place = torch.arange(length)
    in_trunk = place - len(row.prefix)
    is_open = (in_trunk >= 0) & (in_trunk < row.opened)
    block = torch.where(is_open, in_trunk // bidirectional.OPEN_BLOCK, -1)
    together = is_open[:, None] & (block[:, None] == block[None, :])
    seen = (place[None, :] <= place[:, None]) | together
    return torch.where(seen, 0.0, torch.finfo(torch.float32).min)[None, None]


def assert_same(found: RowResult, wanted: Sequence[np.ndarray], tolerance: float = 1e-4) -> None:
    assert len(found.logits) == len(wanted)
    for one, other in zip(found.logits, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=tolerance, rtol=0)


def assert_same_features(found: RowResult, model: Any, row: Row, tolerance: float = 1e-4) -> None:
    """Features are there where a row asks for them, near those of the whole model."""
    if not row.layers or not row.slots:
        assert found.features is None
        return
    wanted = features_path_by_path(model, row)
    assert found.features is not None
    largest = tolerance * max(1.0, float(np.abs(wanted).max()))
    np.testing.assert_allclose(found.features, wanted, atol=largest, rtol=0)


def tokens(smallest: int, largest: int) -> st.SearchStrategy[Tokens]:
    token = st.integers(0, VOCABULARY - 1)
    return st.lists(token, min_size=smallest, max_size=largest).map(tuple)


@st.composite
def branches(draw: st.DrawFn) -> Branch:
    text = draw(tokens(1, 6))
    places = sorted(draw(st.sets(st.integers(0, len(text) - 1), max_size=3)))
    options = st.integers(1, len(LABELS))
    return Branch(text, tuple(Slot(place, draw(options)) for place in places))


rows = st.builds(
    Row,
    prefix=st.one_of(st.just(()), st.sampled_from([(5, 6, 7), (9,) * 9]), tokens(0, 12)),
    trunk=tokens(0, 12),
    branches=st.lists(branches(), min_size=1, max_size=4).map(tuple),
)


@st.composite
def open_rows(draw: st.DrawFn) -> Row:
    row = draw(rows)
    row = replace(row, opened=draw(st.integers(0, len(row.trunk))))
    if not row.trunk or not draw(st.booleans()):
        return row
    start = draw(st.integers(0, len(row.trunk) - 1))
    end = draw(st.integers(start + 1, len(row.trunk)))
    return replace(row, state=(start, end), layers=(1,))


def long_open_row(prefix: int = 5, trunk: int = 2_300, opened: int = 2_290) -> Row:
    """Random tokens, more than two blocks of them open."""
    random = np.random.default_rng(4)
    texts = [
        tuple(random.integers(0, VOCABULARY, count).tolist()) for count in (prefix, trunk, 7, 300)
    ]
    ends = tuple(question(text) for text in texts[2:])
    return Row(texts[0], texts[1], ends, opened)


def question(text: Tokens, options: int = 4) -> Branch:
    """A branch with one slot at its end."""
    return Branch(text, (Slot(len(text) - 1, options),))
