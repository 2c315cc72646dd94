from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open

from tests.lab.train.test_loop import assert_same_weights, quietly, run_in, weights
from thisthat.errors import InvalidInputError
from thisthat_lab.train.average import WeightMean
from thisthat_lab.train.loop import train
from thisthat_lab.train.saved import FILE


def test_the_mean_is_the_mean() -> None:
    seen = [[torch.full((2,), float(n)), torch.arange(3) * float(n)] for n in (1, 4, 10)]
    mean = WeightMean(["one", "two"])
    for tensors in seen:
        mean.add(tensors)
    into = [torch.zeros(2, dtype=torch.bfloat16), torch.zeros(3)]
    mean.put_into(into)
    torch.testing.assert_close(into[0].float(), torch.full((2,), 5.0))
    torch.testing.assert_close(into[1], torch.arange(3) * 5.0)


def test_a_mean_goes_on_from_its_state_and_refuses_another() -> None:
    mean, whole = WeightMean(["one"]), WeightMean(["one"])
    for number in (1.0, 2.0):
        mean.add([torch.tensor([number])])
        whole.add([torch.tensor([number])])
    resumed = WeightMean(["one"])
    resumed.load(mean.state(), torch.device("cpu"))
    for each in (resumed, whole):
        each.add([torch.tensor([9.0])])
    assert resumed.state().keys() == whole.state().keys()
    assert resumed.state()["mean/one"] == whole.state()["mean/one"] == 4
    with pytest.raises(InvalidInputError, match="other tensors"):
        WeightMean(["two"]).load(mean.state(), torch.device("cpu"))


def test_nothing_is_averaged_before_the_first_step() -> None:
    mean, kept = WeightMean(["one"]), torch.ones(2)
    mean.put_into([kept])
    assert mean.state() == {}
    assert kept.tolist() == [1, 1]


def test_a_run_ends_with_the_mean_and_keeps_its_last_weights(workplace: Path) -> None:
    schedule = {"steps": 8, "warm_up_steps": 2, "average": 0.5}
    run = run_in(workplace, schedule=schedule)
    train(run, quietly)
    seen = []
    for steps in (5, 6, 7, 8):
        plain = {"steps": steps, "warm_up_steps": 2, "cool_down": 1e-9}
        other = run_in(workplace, output=f"run{steps}", schedule=plain)
        train(other, quietly)
        seen.append(weights(other.output))
    averaged, name = weights(run.output), "model.layers.0.mlp.up_proj.weight"
    with safe_open(run.output / FILE, framework="np") as file:
        last = file.get_tensor(f"state/master/trunk.{name.removeprefix('model.')}")
        count = int(file.get_tensor("state/mean count"))
    assert count == 4
    assert not np.array_equal(averaged[name], last)
    # The rates differ a little (one run cools, the others do not), the way does not.
    spread = np.abs(seen[-1][name] - seen[0][name]).mean()
    middle = np.mean([one[name] for one in seen], axis=0)
    assert np.abs(averaged[name] - middle).mean() < spread


def test_a_resumed_run_has_the_same_mean(workplace: Path) -> None:
    run = run_in(workplace, schedule={"steps": 10, "warm_up_steps": 2, "average": 0.6})
    train(run, quietly)
    parts = run.model_copy(update={"output": workplace / "parts"})
    assert not train(parts, quietly, stop_after_minutes=0).complete
    while not train(parts, quietly, resume=True, stop_after_minutes=1e-3).complete:
        pass
    assert_same_weights(run.output, parts.output)
