from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.lab.train import tiny
from tests.lab.train.model.test_backbone import CPU, backbone_of
from thisthat.errors import InvalidInputError
from thisthat_lab.train.config import Model, Run, parse_run
from thisthat_lab.train.data.buckets import Shape
from thisthat_lab.train.data.stream import feed_batch
from thisthat_lab.train.fit import every_means, random_batch
from thisthat_lab.train.flops import flops_per_token
from thisthat_lab.train.memory import predict_memory
from thisthat_lab.train.model.backbone import random_backbone
from thisthat_lab.train.optimiser import Stepper
from thisthat_lab.train.step import take_step

WIDER = {"hidden_size": 128, "intermediate_size": 352, "num_hidden_layers": 4, "head_dim": 64}
HYBRID: dict[str, Any] = {
    "model_type": "qwen3_5_text",
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": 300,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_conv_kernel_dim": 4,
    "layer_types": ["linear_attention", "full_attention"],
    "tie_word_embeddings": True,
}


def run_with(folder: Path, **changes: Any) -> Run:
    return parse_run(tiny.run_table(folder, **changes), folder, "run")


def saved_bytes(model: Model, config: dict[str, Any], shape: Shape) -> int:
    """What autograd really holds on to between forward and backward."""
    backbone = random_backbone(config, model, CPU)
    own = {p.untyped_storage().data_ptr() for p in backbone.parameters()}
    held: list[torch.Tensor] = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        held.append(tensor)
        return tensor

    fed = feed_batch(random_batch(shape, config["vocab_size"]), pin=False)
    tokens, row, at, *_ = fed.to(CPU)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        backbone(tokens, row, at)
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in held}
    return sum(size for address, size in storages.items() if address not in own)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("means", ["none", "checkpointing", "eight_bit"])
def test_the_prediction_is_near_what_is_held(workplace: Path, dtype: str, means: str) -> None:
    config = tiny.config(**WIDER)
    shape = Shape(1, 256) if dtype == "bfloat16" else Shape(2, 256)  # Many CPUs emulate bfloat16.
    checkpointing = means == "checkpointing"
    settings = {"dtype": dtype, "checkpointing": checkpointing, "eight_bit": means == "eight_bit"}
    model = Model.model_validate(settings)
    run = run_with(workplace, model={"initial": "model", **settings})
    predicted = predict_memory(random_backbone(config, model, CPU), run, [shape]).activations
    held = saved_bytes(model, config, shape)
    if checkpointing:  # the layer being recomputed comes on top of what is held
        assert held < predicted < 12 * held
    else:  # gradients inside one layer come on top
        size = 4 if dtype == "float32" else 2
        tokens = shape.rows * shape.length
        inside = 3 * (config["intermediate_size"] + config["hidden_size"]) * size * tokens
        assert predicted - inside == pytest.approx(held, rel=0.15)


def test_layers_that_are_not_joined_are_tried_or_counted_as_compiled(workplace: Path) -> None:
    config = {**tiny.config(**WIDER), "model_type": "mistral", "sliding_window": None}
    shape = Shape(2, 256)
    backbone = random_backbone(config, Model(), CPU)
    assert not backbone.joined
    assert backbone.plain
    run = run_with(workplace)
    eager = predict_memory(backbone, run, [shape]).activations
    assert eager == pytest.approx(saved_bytes(Model(), config, shape), rel=0.25)
    compiled = run_with(workplace, model={"initial": "model", "compile": "static"})
    assert predict_memory(backbone, compiled, [shape]).activations < eager


def test_what_each_means_saves(workplace: Path) -> None:
    config = tiny.config(**WIDER)
    shapes = [Shape(8, 256)]

    def peak(optimiser: str = "adamw-8bit", **model: Any) -> int:
        settings = {"dtype": "bfloat16", "checkpointing": True, **model}
        run = run_with(
            workplace, model={"initial": "model", **settings}, optimiser={"name": optimiser}
        )
        backbone = random_backbone(config, Model.model_validate(settings), CPU)
        return predict_memory(backbone, run, shapes).peak

    assert peak() < peak("adamw")
    assert peak() < peak(checkpointing=False)
    assert peak("adamw") < peak("adamw", dtype="float32")
    assert peak("adamw", train="last", last_layers=1) < peak("adamw")


def test_eight_bit_moments_learn_and_resume(model_folder: Path) -> None:
    pytest.importorskip("torchao.optim")
    # As small as matrices with 8-bit moments can be; those of 4,096 numbers and more have them.
    config = tiny.config(hidden_size=64, intermediate_size=128, head_dim=32)
    model = Model(dtype="bfloat16")
    from thisthat_lab.train.config import Objective, Optimiser

    settings = Optimiser(name="adamw-8bit", rate=1e-2)
    fed = feed_batch(random_batch(Shape(2, 32), config["vocab_size"]), pin=False)
    with torch.compiler.set_stance("force_eager"):
        torch.manual_seed(0)
        backbone = random_backbone(config, model, CPU)
        stepper = Stepper(backbone.trained(), settings)
        losses = [
            float(take_step(backbone, stepper, [fed], 1e-2, Objective(), n, CPU).losses[0].mean())
            for n in range(6)
        ]
        assert losses[-1] < losses[0]
        assert "moment/trunk.layers.1.mlp.up_proj.weight/exp_avg.codes" in stepper.state()
        again = random_backbone(config, model, CPU)
        resumed = Stepper(again.trained(), settings)
        resumed.load({name: tensor.clone() for name, tensor in stepper.state().items()})
        for one, other in ((backbone, stepper), (again, resumed)):
            torch.manual_seed(1)
            take_step(one, other, [fed], 1e-2, Objective(), 7, CPU)
    for (name, first), (_, second) in zip(backbone.trained(), again.trained(), strict=True):
        assert torch.equal(first, second), name


def test_the_hybrid_trains_and_is_predicted(workplace: Path) -> None:
    run = run_with(workplace, model={"initial": "model", "checkpointing": True})
    backbone = random_backbone(HYBRID, Model(checkpointing=True), CPU)
    assert not backbone.plain
    assert predict_memory(backbone, run, [Shape(2, 64)]).peak > 0
    fits = every_means(HYBRID, run, [Shape(2, 32), Shape(1, 64)])
    assert [fit.failed for fit in fits] == [None] * 5
    assert all(fit.tokens_per_second for fit in fits)
    assert fits[0].line().startswith("all means: fits; predicted 0.00 GiB, ")


def test_work_is_counted_by_weight_and_pass(model_folder: Path) -> None:
    whole, _ = backbone_of(model_folder)
    per_layer = 32 * 32 + 2 * 32 * 16 + 32 * 32 + 3 * 32 * 64
    at_slots = 32 * 32 + 3 * 32 * 64  # what the last of the joined layers does at slots alone
    assert flops_per_token(whole) == 6 * (2 * per_layer - at_slots)
    last, _ = backbone_of(model_folder, train="last", last_layers=1)
    assert flops_per_token(last) == (2 + 6) * per_layer
    looped, _ = backbone_of(model_folder, loop={"first": 0, "last": 1, "times": 2})
    assert flops_per_token(looped) == 6 * (4 * per_layer - at_slots)


def test_other_architectures_are_refused() -> None:
    config = {"model_type": "granite", "hidden_size": 32, "num_hidden_layers": 1, "vocab_size": 300}
    with pytest.raises(InvalidInputError, match=r"model.initial: granite cannot be trained"):
        random_backbone({**config, "num_attention_heads": 2}, Model(), CPU)
