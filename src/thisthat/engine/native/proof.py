"""Kernels give right numbers on this processor: a small model, by them and by plain arithmetic.

Run as a program of its own, because kernels compiled for the wrong processor end the process.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thisthat.engine.flat_pass import FlatPass, lay_flat
from thisthat.engine.llama_shape import LlamaShape
from thisthat.engine.native.library import Library
from thisthat.engine.native.loud_inputs import LOUD
from thisthat.engine.native.pack import LEVELS, layer_of, span_of, write_packed
from thisthat.engine.native.plain_step import plain_norm, plain_step
from thisthat.engine.native.product import Product
from thisthat.engine.native.runtime import NativeRuntime
from thisthat.engine.rope import rotary_tables
from thisthat.engine.rows import Branch, Row, Slot

Array = NDArray[np.float64]
Weights = dict[str, NDArray[np.float32]]

SHAPE = LlamaShape(
    order=(0, 1),
    width=192,
    heads=3,
    shared_heads=1,
    head_width=64,
    epsilon=1e-5,
    rope_base=10_000.0,
    longest=128,
    vocabulary=40,
    tied=True,
    biased=True,
)
INNER = 256
LABELS = tuple(range(9))
KEPT = tuple(range(20))
TREE = Row(
    (),
    tuple(range(5, 38)),
    (Branch(tuple(range(9)), (Slot(3, 9), Slot(8, 9))), Branch((7, 1, 2), (Slot(2, 9),))),
    opened=21,
)

LARGEST_ERROR = 0.002
"""Of a logit, as a share of the largest one; attention in bfloat16 leaves a bit more than half of
that, two terms of eight bits far less."""

LARGEST_ROUNDING = 8.0
"""Of a product, in standard deviations of what rounding its activations leaves."""

_PATIENCE = 60


def why_wrong(library: Library) -> str | None:
    """What is wrong with the numbers of ``library``; None when they are right."""
    command = [sys.executable, "-m", __name__, str(library.path), library.variant]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the kernels were not tried: {error}"
    if done.returncode == 0:
        return None
    said = done.stderr.strip().splitlines()
    return f"the {library.variant} kernels fail here: {said[-1] if said else done.returncode}"


def largest_error(library: Library) -> float:
    """Of a logit, as a share of the largest one."""
    weights = _weights()
    with tempfile.TemporaryDirectory() as folder:
        data, index = Path(folder) / "weights.bin", Path(folder) / "index.json"
        with data.open("wb") as file:
            index.write_bytes(write_packed(weights, SHAPE, LABELS, library.order, file))
        runtime = NativeRuntime(library, index, data, SHAPE, INNER, len(LABELS), terms=2, threads=2)
        first = lay_flat([Row((), KEPT, ())], 0)
        second = lay_flat([TREE], len(KEPT))
        kept = runtime.read(first, runtime.nothing, True).after
        assert kept is not None
        found = runtime.read(second, kept, False).logits
        runtime.close()
    wanted = _plainly(weights, first, second)
    if not np.isfinite(found).all():
        return np.inf
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def largest_rounding(library: Library) -> float:
    """How far products are off, in standard deviations of what rounding may leave.

    All the ways in which kernels take rows and inputs: groups of them whole and not, with one term
    and with two, spans of every length, loud inputs; and sums as large as they come.
    """
    random = np.random.default_rng(0)
    found = [_largest_sums(library)]
    for inputs, loud in itertools.product((64, 128, 576), ((), range(1, 4 * LOUD, 4))):
        whole = random.integers(-LEVELS, LEVELS + 1, (96, inputs), np.int8)
        steps = random.uniform(0.5, 1.5, 96).astype(np.float32)
        name = "gate_up" if loud else "down"
        product = Product(library, whole, steps, loud, name)
        # Spans of very different sizes, so that a wrong step shows.
        span = span_of(name, inputs)
        sizes = 10 ** random.uniform(-2, 2, (41, inputs // span, 1))
        drawn = random.standard_normal((41, inputs // span, span)) * sizes
        values = drawn.reshape(41, inputs).astype(np.float32)
        values[:, loud] *= 20
        weights = whole * steps[:, None].astype(np.float64)
        for terms, count in ((1, 1), (1, 5), (1, 24), (1, 41), (2, 1), (2, 7), (2, 16), (2, 41)):
            given = values[:count]
            wanted = given.astype(np.float64) @ weights.T
            step = _step_of_each(given, span, loud, terms, library)
            spread = np.sqrt(step**2 @ (weights**2).T / 12) + 1e-6 * np.abs(wanted).max()
            found.append(np.abs((product(given, terms) - wanted) / spread).max())
    return float(np.max(found))


def _largest_sums(library: Library) -> float:
    """The same of products whose weights and activations are all as large as they come."""
    whole = np.full((32, 64), LEVELS, np.int8)
    whole[1::2] *= -1
    values = np.ones((4, 64), np.float32)
    wanted = values.astype(np.float64) @ whole.T.astype(np.float64)
    spread = np.abs(wanted) / library.levels / np.sqrt(12 * 64)
    product = Product(library, whole, np.ones(32, np.float32))
    return float(max(np.abs((product(values, terms) - wanted) / spread).max() for terms in (1, 2)))


def _step_of_each(
    values: NDArray[np.float32], span: int, loud: Sequence[int], terms: int, library: Library
) -> Array:
    """The step that rounds each of ``values`` [rows, inputs], or a longer one."""
    finest = 2 * library.levels**2
    levels, inputs = (library.levels, finest)[terms - 1], values.shape[1]
    sizes: Array = np.abs(values).astype(np.float64)
    if library.variant == "amx":  # tiles have one step for all inputs, loud ones among them
        largest: Array = sizes.max(axis=1, keepdims=True) / levels
        return largest.repeat(inputs, axis=1)
    apart = np.isin(np.arange(inputs), loud if library.multiplies_bytes else ())
    others: Array = np.where(apart, 0, sizes).reshape(len(values), -1, span).max(axis=2) / levels
    step = others.repeat(span, axis=1)
    if apart.any():
        step[:, apart] = sizes[:, apart].max(axis=1, keepdims=True) / finest
    return step


def _weights() -> Weights:
    """Random ones that packing does not round."""
    random = np.random.default_rng(0)

    def matrix(outputs: int, inputs: int) -> NDArray[np.float32]:
        whole = random.integers(-LEVELS, LEVELS + 1, (outputs, inputs))
        whole[:, 0] = LEVELS
        return (whole * (0.15 / LEVELS)).astype(np.float32)

    wide, shared = SHAPE.heads * SHAPE.head_width, SHAPE.shared_heads * SHAPE.head_width
    found: Weights = {
        "model.embed_tokens.weight": random.standard_normal((SHAPE.vocabulary, SHAPE.width))
        .astype(np.float16)
        .astype(np.float32),
        "model.norm.weight": np.ones(SHAPE.width, np.float32),
    }
    for layer in SHAPE.order:
        start = f"model.layers.{layer}."
        for name in ("input_layernorm", "post_attention_layernorm"):
            found[f"{start}{name}.weight"] = random.uniform(0.5, 1.5, SHAPE.width).astype(
                np.float32
            )
        sizes = {
            "self_attn.q_proj": (wide, SHAPE.width),
            "self_attn.k_proj": (shared, SHAPE.width),
            "self_attn.v_proj": (shared, SHAPE.width),
            "self_attn.o_proj": (SHAPE.width, wide),
            "mlp.gate_proj": (INNER, SHAPE.width),
            "mlp.up_proj": (INNER, SHAPE.width),
            "mlp.down_proj": (SHAPE.width, INNER),
        }
        for name, size in sizes.items():
            found[f"{start}{name}.weight"] = matrix(*size)
        for name, outputs in (("q_proj", wide), ("k_proj", shared), ("v_proj", shared)):
            bias = random.standard_normal(outputs).astype(np.float32)
            found[f"{start}self_attn.{name}.bias"] = bias
    return found


def _plainly(weights: Weights, first: FlatPass, second: FlatPass) -> Array:
    """Logits at the slots of ``second`` read after ``first``, in float64."""
    before = len(first.tokens)
    tokens = np.concatenate([first.tokens, second.tokens])
    positions = np.concatenate([first.positions, second.positions])
    since = np.concatenate([first.since, second.since + before])
    until = np.concatenate([np.full(before, len(tokens)), second.until + before])
    places = np.arange(len(tokens))[:, None]
    seen = (since <= places) & (places < until)
    cosine, sine = (table[positions] for table in rotary_tables(SHAPE, SHAPE.longest))
    hidden = weights["model.embed_tokens.weight"][tokens].astype(np.float64)
    for layer in SHAPE.order:
        parts = layer_of(weights, SHAPE, layer)
        hidden = plain_step(SHAPE, parts, hidden, (cosine, sine), seen).hidden
    slots = plain_norm(hidden, weights["model.norm.weight"], SHAPE.epsilon)[second.slots + before]
    logits: Array = slots @ weights["model.embed_tokens.weight"][list(LABELS)].T
    return logits


def _main(path: str, variant: str) -> None:
    library = Library(Path(path), variant)  # type: ignore[arg-type]
    error = largest_error(library)
    if not error <= LARGEST_ERROR:
        sys.exit(f"a logit is wrong by {error:.2g} of the largest")
    rounding = largest_rounding(library)
    if not rounding <= LARGEST_ROUNDING:
        sys.exit(f"a product is wrong by {rounding:.2g} times what rounding leaves")


if __name__ == "__main__":
    _main(*sys.argv[1:])
