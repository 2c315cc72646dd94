"""Products alone: multiply-adds a second of the native kernels, beside those of torch.

One thread, its processor time, in turns; the fastest of many calls of each, because what is left of
a busy machine only slows. Activations are float32 on both sides: rounding them is part of the work.
"""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from thisthat.engine.native.compiler import library_here
from thisthat.engine.native.loud_inputs import LOUD
from thisthat.engine.native.pack import HAS_LOUD, LEVELS
from thisthat.engine.native.product import Product
from thisthat.errors import MissingExtraError
from thisthat_lab.bench.measure import Context, Findings
from thisthat_lab.bench.result import Bar, Line
from thisthat_lab.bench.systems.protocol import Identity
from thisthat_lab.bench.timing.busy import busy_caveats

if TYPE_CHECKING:
    from torch.nn import Module

SHAPES = {
    "projections": (576, 960),
    "attention out": (576, 576),
    "gate and up": (576, 3072),
    "down": (1536, 576),
}
"""Inputs and outputs of the products of one layer of the default checkpoint."""
NAMES = dict(zip(SHAPES, ("projections", "out", "gate_up", "down"), strict=True))
"""What the kernels call them: their spans and loud inputs go by it."""
TOKENS = (16, 64, 256, 1024)
LAYERS = 8
"""So many matrices of a shape take turns, as in a pass: the second cache does not keep them."""
SECONDS, QUICK_SECONDS = 1.5, 0.1
LEAST_RATIO = 0.9
BACKENDS = (
    {"qnnpack": "QNNPACK", "onednn": "oneDNN"}
    if platform.machine() in ("aarch64", "arm64")
    else {"fbgemm": "FBGEMM", "onednn": "oneDNN"}
)
"""Torch's names, and what they are called; the first is what ours are compared with."""

Call = Callable[[], object]


def run(context: Context) -> Findings:
    """Raises MissingExtraError without torch, CannotCompileError without kernels."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("bench kernels", "torch") from error
    library = library_here()
    seconds = QUICK_SECONDS if context.setting.quick else SECONDS
    caveats = busy_caveats()
    rates: dict[str, dict[str, list[float]]] = {}
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with context.progress("kernels", len(SHAPES) * len(TOKENS)) as advance:
        for name, (inputs, outputs) in SHAPES.items():
            random = np.random.default_rng(context.seed)
            shape = (LAYERS, outputs, inputs)
            whole = random.integers(-LEVELS, LEVELS + 1, shape, np.int8)
            steps = np.full(outputs, 0.15 / LEVELS, np.float32)
            called = NAMES[name]
            loud = range(LOUD) if called in HAS_LOUD else ()
            ours = [Product(library, layer, steps, loud, called) for layer in whole]
            theirs = {told: _modules(key, whole) for key, told in BACKENDS.items()}
            for tokens in TOKENS:
                values = random.standard_normal((tokens, inputs)).astype(np.float32)
                calls = _calls(ours, theirs, values, outputs)
                fastest = _fastest(calls, seconds)
                for system, each in fastest.items():
                    rate = tokens * inputs * outputs / each / 1e9
                    rates.setdefault(system, {}).setdefault(name, []).append(rate)
                advance(1)
    torch.set_num_threads(before)
    return findings_of(rates, library.variant, caveats)


def findings_of(
    rates: Mapping[str, Mapping[str, list[float]]], variant: str, caveats: list[str]
) -> Findings:
    """A line a system and number of tokens, for a whole layer; bars over the first other's rate."""
    size = sum(inputs * outputs for inputs, outputs in SHAPES.values())
    lines, bars = [], []
    for at, tokens in enumerate(TOKENS):
        layer = {system: size / _layer(found, at) for system, found in rates.items()}
        for system, rate in layer.items():
            label = f"a layer, {tokens:,} tokens: {system}, 10⁹ a second"
            lines.append(Line(label, rate, unit="number"))
        other = next(system for system in layer if system != "ours")
        share = layer["ours"] / layer[other]
        label = f"a layer, {tokens:,} tokens: ours over {other}"
        bars.append(Bar(label, share, LEAST_RATIO, True, "ratio"))
    return Findings(
        lines,
        bars=bars,
        series={"kernels": {"tokens": TOKENS, "rates": rates}},
        caveats=caveats,
        system=Identity(
            "products of the default's shape", "kernels", engine=f"{variant}, 1 thread"
        ),
    )


def _layer(rates: Mapping[str, list[float]], at: int) -> float:
    """Time of all products of a layer, for each token, in nanoseconds."""
    return sum(inputs * outputs / rates[name][at] for name, (inputs, outputs) in SHAPES.items())


def _modules(backend: str, whole: np.ndarray[tuple[int, ...], np.dtype[np.int8]]) -> list[Module]:
    import torch

    found = []
    quantized: Callable[..., Module] = torch.ao.quantization.quantize_dynamic
    torch.backends.quantized.engine = backend
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for layer in whole:
            linear = torch.nn.Linear(layer.shape[1], layer.shape[0], bias=False)
            linear.weight.data.copy_(torch.from_numpy(layer) * (0.15 / LEVELS))
            model = torch.nn.Sequential(linear).eval()
            found.append(quantized(model, {torch.nn.Linear}, torch.qint8))
    return found


def _calls(
    ours: list[Product],
    theirs: Mapping[str, list[Module]],
    values: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
    outputs: int,
) -> dict[str, list[Call]]:
    """What each system does, one call a matrix."""
    import torch

    out = np.empty((len(values), outputs), np.float32)
    given = torch.from_numpy(values)

    def multiply(product: Product) -> Call:
        return lambda: product(values, 1, out)

    def apply(module: Module) -> Call:
        def call() -> object:
            with torch.inference_mode():
                return module(given)

        return call

    found: dict[str, list[Call]] = {"ours": [multiply(product) for product in ours]}
    return found | {name: [apply(each) for each in modules] for name, modules in theirs.items()}


def _fastest(calls: Mapping[str, list[Call]], seconds: float) -> dict[str, float]:
    """The least processor time of a call, for each system; they take turns."""
    best = dict.fromkeys(calls, float("inf"))
    end = time.perf_counter() + seconds
    turn = 0
    while turn < 2 * LAYERS or time.perf_counter() < end:
        for system, each in calls.items():
            before = time.thread_time()
            each[turn % LAYERS]()
            best[system] = min(best[system], time.thread_time() - before)
        turn += 1
    return best
