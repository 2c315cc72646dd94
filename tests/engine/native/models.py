"""Small random models in sizes that the kernels take, and engines over them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch

from tests.engine.trees import LABELS, random_model
from thisthat.checkpoint.card import Loop
from thisthat.engine.llama_shape import read_shape
from thisthat.engine.native import compiler
from thisthat.engine.native.compiler import CannotCompileError, compiled, variants_here
from thisthat.engine.native.engine import NativeEngine
from thisthat.engine.native.library import Library, Variant
from thisthat.engine.native.pack import LEVELS, inner_size, write_packed
from thisthat.engine.runtime_form import open_form

_WIDE = {"avx512f", "avx512bw", "avx512vl", "avx512dq"}
EMULATED: dict[Variant, set[str]] = {
    "amx": _WIDE,
    "vnni": _WIDE,
    "avxvnni": {"avx512vl", "avx512_vnni"},
    "neon": {"f16c"},
}
"""What a processor must have so that the missing instructions of a variant can be emulated; those
of AVX-VNNI are then there in another encoding."""
_ALIKE = {
    "amx": ("-march=native",),
    "vnni": ("-march=native", "-O2"),
    "avxvnni": ("-march=native", "-mno-avx512f"),
    "neon": ("-mf16c",),
}
"""Options with which vectors are as long as the variant's own, and emulation takes no minute: GCC
optimises that of VNNI for long, and without F16C calls a function for every half."""
SIZES = {"intermediate_size": 128, "head_dim": 64}
SCORES = 4.0
"""How far scores of keys, which are about normal, spread."""
KEPT = "KERNELS_OF_TESTS"
"""The variable that names the folder of libraries compiled once for all tests: `conftest.py`."""


@dataclass(frozen=True)
class Looped:
    first: int
    last: int
    times: int


def whole_model(heads: int = 3, shared: int = 1, kind: str = "llama", **changes: Any) -> Any:
    """A model whose linear weights are whole steps and whose embedding is exact in sixteen bits.

    Packing such a model rounds nothing off. Scores of keys are as large as in trained models.
    """
    sizes = {"hidden_size": 64 * heads, "num_attention_heads": heads, "num_key_value_heads": shared}
    model = random_model(kind, **SIZES | sizes | changes)
    with torch.no_grad():
        model.model.embed_tokens.weight.copy_(model.model.embed_tokens.weight.half().float())
        for module in model.model.layers.modules():
            if isinstance(module, torch.nn.Linear):
                steps = module.weight.abs().amax(1, keepdim=True) / LEVELS
                module.weight.copy_((module.weight / steps).round() * steps)
            elif hasattr(module, "variance_epsilon"):
                module.weight.normal_(1, 0.2)
        for layer in model.model.layers:
            attention = layer.self_attn
            size = attention.q_proj.weight.std() * attention.k_proj.weight.std() * 64 * heads
            attention.q_proj.weight.mul_(SCORES / size)
    return model


def variants_to_try() -> list[Variant]:
    """Those that run here, and those whose instructions can be emulated."""
    here = variants_here()
    try:
        flags = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        flags = set()
    return [
        *here,
        *(name for name, needs in EMULATED.items() if needs <= flags and name not in here),
    ]


def library_of(variant: Variant, folder: Path) -> Library:
    """The variant's library; the test is skipped where there is no compiler for it."""
    header = Path(__file__).parent / "emulated" / f"{variant}.h"
    here = variant in variants_here()
    included = ("-include", str(header)) if header.exists() else ()
    emulated = {} if here else {variant: (*_ALIKE[variant], *included)}
    try:
        with patch.dict(compiler._INSTRUCTIONS, emulated):
            return Library(compiled(variant, "cc", folder), variant)
    except CannotCompileError as error:
        pytest.skip(str(error))


@cache
def kept_library(variant: Variant) -> Library:
    """As ``library_of``, compiled once for all tests."""
    return library_of(variant, Path(os.environ[KEPT]))


def engine_of(
    model: Any,
    folder: Path,
    variant: Variant | None = None,
    loop: Loop | None = None,
    **settings: Any,
) -> NativeEngine:
    """An engine over the model's weights, by default of the fastest variant here."""
    library = kept_library(variant or variants_here()[0])
    weights = {
        name: np.asarray(value.numpy(), np.float32) for name, value in model.state_dict().items()
    }
    config = model.config.to_dict()
    shape = read_shape(config, loop)
    index = open_form(
        {"order": library.order, "model": id(model), "shape": repr(shape)},
        lambda data, _: write_packed(weights, shape, LABELS, library.order, data),
        folder,
        index="index.json",
    )
    return NativeEngine(
        library, index, shape, inner_size(config), len(LABELS), **{"threads": 1, **settings}
    )
