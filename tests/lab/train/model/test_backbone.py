from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.lab.train import tiny
from thisthat.checkpoint import open_checkpoint
from thisthat.engine.torch.engine import TorchEngine
from thisthat.errors import CheckpointError, InvalidInputError
from thisthat.prompt.builder import PromptBuilder
from thisthat_lab.train.config import Loop, Model
from thisthat_lab.train.data.augment import plain_sheet
from thisthat_lab.train.data.buckets import Shape
from thisthat_lab.train.data.rows import TrainingRow, build_row
from thisthat_lab.train.data.stream import fed_batches
from thisthat_lab.train.model.backbone import TrainedBackbone, build_backbone, layer_order

CPU = torch.device("cpu")


def backbone_of(folder: Path, **settings: object) -> tuple[TrainedBackbone, PromptBuilder]:
    checkpoint = open_checkpoint(folder)
    builder = PromptBuilder(checkpoint.encode, checkpoint.card.prompt)
    model = Model.model_validate(settings)
    return (
        build_backbone(checkpoint.config, checkpoint.weights(), builder.label_ids, model, CPU),
        builder,
    )


def rows_of(builder: PromptBuilder, count: int) -> list[TrainingRow]:
    rows = []
    for item in tiny.colour_items(count):
        row = build_row(plain_sheet([item]), [item], builder, 200, "here", [False])
        assert row is not None
        rows.append(row)
    return rows


@pytest.mark.parametrize("layout", ["state-first", "schema-first"])
@pytest.mark.parametrize("questions", [1, 3])
def test_padded_batches_give_the_logits_of_the_engine(
    model_folder: Path, layout: str, questions: int
) -> None:
    backbone, builder = backbone_of(model_folder)
    engine = TorchEngine.from_checkpoint(
        open_checkpoint(model_folder), builder.label_ids, device="cpu"
    )
    items = tiny.colour_items(9)
    rows = []
    for start in range(0, 9, questions):
        group = items[start : start + questions]
        sheet = plain_sheet(group, layout)  # type: ignore[arg-type]
        row = build_row(sheet, group, builder, 300, "here", [False] * questions)
        assert row is not None
        rows.append(row)
        rendered = builder.render(
            group[0].state,
            [item.as_question() for item in group],
            layout=layout,  # type: ignore[arg-type]
            packing="together",
            limit=300,
        )
        (result,) = engine.run(rendered.rows)
        (fed,) = fed_batches([row], [Shape(3, 300)])
        tokens, places, at, *_ = fed.to(CPU)
        logits = backbone(tokens, places, at).detach().numpy()
        for slot, expected in enumerate(result.logits):
            np.testing.assert_allclose(logits[slot, : len(expected)], expected, atol=2e-5)


def test_a_loop_runs_its_layers_again() -> None:
    assert layer_order(6, None) == [0, 1, 2, 3, 4, 5]
    assert layer_order(6, Loop(first=1, last=2, times=3)) == [0, 1, 2, 1, 2, 1, 2, 3, 4, 5]
    with pytest.raises(InvalidInputError, match=r"model.loop: 4 to 6 is no range"):
        layer_order(6, Loop(first=4, last=6, times=2))


def test_a_looped_backbone_is_a_deeper_model(model_folder: Path) -> None:
    looped, builder = backbone_of(model_folder, loop={"first": 1, "last": 1, "times": 2})
    plain, _ = backbone_of(model_folder)
    plain.order = [0, 1, 1]
    (fed,) = fed_batches(rows_of(builder, 3), [Shape(4, 200)])
    tokens, places, at, *_ = fed.to(CPU)
    torch.testing.assert_close(looped(tokens, places, at), plain(tokens, places, at))
    assert len(list(looped.parameters())) == len(list(plain.parameters()))


def gradients(backbone: TrainedBackbone, rows: list[TrainingRow]) -> dict[str, torch.Tensor]:
    (fed,) = fed_batches(rows, [Shape(len(rows), 200)])
    tokens, places, at, *_ = fed.to(CPU)
    backbone(tokens, places, at)[:, :2].sum().backward()
    return {name: p.grad for name, p in backbone.trained() if p.grad is not None}


def test_checkpointing_changes_no_gradient(model_folder: Path) -> None:
    plain, builder = backbone_of(model_folder)
    saving, _ = backbone_of(model_folder, checkpointing=True)
    rows = rows_of(builder, 3)
    expected = gradients(plain, rows)
    for name, gradient in gradients(saving, rows).items():
        torch.testing.assert_close(gradient, expected[name])


def test_training_the_last_layers_leaves_the_rest(model_folder: Path) -> None:
    backbone, builder = backbone_of(model_folder, train="last", last_layers=1)
    found = gradients(backbone, rows_of(builder, 3))
    assert {name.split(".")[1] for name in found} == {"layers", "norm"}
    assert {name.split(".")[2] for name in found if ".layers." in name} == {"1"}
    assert set(backbone.tensors()) == {f"model.{n.removeprefix('trunk.')}" for n in found}
    with pytest.raises(InvalidInputError, match=r"model.last_layers: is 9"):
        backbone_of(model_folder, train="last", last_layers=9)


def test_adapters_merge_into_their_weights(model_folder: Path) -> None:
    backbone, builder = backbone_of(model_folder, train="lora", rank=2)
    assert all("lora_" in name for name, _ in backbone.trained())
    with torch.no_grad():
        for _, parameter in backbone.trained():
            parameter.normal_(std=0.1)
    merged, _ = backbone_of(model_folder)
    assert not backbone.tensors()
    added = dict(backbone.adapted())
    assert len(added) == 14
    with torch.no_grad():
        for name, parameter in merged.trunk.named_parameters():
            if f"model.{name}" in added:
                parameter += added[f"model.{name}"]
    (fed,) = fed_batches(rows_of(builder, 3), [Shape(4, 200)])
    tokens, places, at, *_ = fed.to(CPU)
    torch.testing.assert_close(
        backbone(tokens, places, at), merged(tokens, places, at), atol=1e-4, rtol=1e-4
    )


def test_an_untied_head_is_read_at_its_label_rows(tmp_path: Path) -> None:
    folder = tiny.write_checkpoint(tmp_path / "untied", tie_word_embeddings=False)
    backbone, builder = backbone_of(folder)
    assert backbone.label_rows is not None
    engine = TorchEngine.from_checkpoint(open_checkpoint(folder), builder.label_ids, device="cpu")
    item = tiny.colour_items(1)[0]
    rendered = builder.render(item.state, [item.as_question()], limit=200)
    (result,) = engine.run(rendered.rows)
    (fed,) = fed_batches(rows_of(builder, 1), [Shape(2, 200)])
    tokens, places, at, *_ = fed.to(CPU)
    np.testing.assert_allclose(
        backbone(tokens, places, at).detach().numpy()[0, :3], result.logits[0], atol=2e-5
    )


def test_tensors_that_do_not_fit_are_named(model_folder: Path) -> None:
    checkpoint = open_checkpoint(model_folder)
    labels = PromptBuilder(checkpoint.encode, checkpoint.card.prompt).label_ids
    for change, message in (
        (lambda w: w.pop("model.norm.weight"), "norm.weight is missing"),
        (lambda w: w.update(extra=w["model.norm.weight"]), "extra is not a tensor"),
        (lambda w: w.update({"model.norm.weight": np.ones(3)}), r"has shape \(3,\)"),
    ):
        weights = checkpoint.weights()
        change(weights)  # type: ignore[no-untyped-call]
        with pytest.raises(CheckpointError, match=message):
            build_backbone(checkpoint.config, weights, labels, Model(), CPU)
