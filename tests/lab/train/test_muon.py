import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from thisthat_lab.train.config import Optimiser
from thisthat_lab.train.muon import Muon, orthogonal
from thisthat_lab.train.optimiser import Stepper


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 3), st.integers(2, 24), st.integers(2, 24), st.integers(0, 999))
def test_singular_values_come_near_one_and_directions_stay(
    count: int, rows: int, columns: int, seed: int
) -> None:
    matrices = torch.randn(count, rows, columns, generator=torch.Generator().manual_seed(seed))
    found = orthogonal(matrices)
    left, values, right = torch.linalg.svd(matrices, full_matrices=False)
    sizes = torch.diagonal(left.mT @ found @ right.mT, dim1=-2, dim2=-1)
    clear = values > 0.05 * values.amax(-1, keepdim=True)
    assert ((sizes > 0.5) & (sizes < 1.3))[clear].all()


def test_matrices_of_one_shape_do_not_touch_each_other() -> None:
    generator = torch.Generator().manual_seed(1)
    start = [torch.randn(4, 6, generator=generator) for _ in range(3)]
    gradients = [torch.randn(4, 6, generator=generator) for _ in range(3)]

    def moved(which: list[int]) -> list[torch.Tensor]:
        matrices = [nn.Parameter(start[index].clone()) for index in which]
        optimiser = Muon(matrices, lr=0.1)
        for matrix, index in zip(matrices, which, strict=True):
            matrix.grad = gradients[index].clone()
        optimiser.step()
        return [matrix.detach() for matrix in matrices]

    together = moved([0, 1, 2])
    for index in range(3):
        torch.testing.assert_close(together[index], moved([index])[0])


def test_it_finds_a_matrix_that_maps_as_wanted() -> None:
    generator = torch.Generator().manual_seed(2)
    wanted = torch.randn(8, 5, generator=generator)
    matrix = nn.Parameter(torch.zeros(8, 5))
    optimiser = Muon([matrix], lr=0.3)
    for step in range(400):
        optimiser.param_groups[0]["lr"] = 0.3 * (1 - step / 400)
        given = torch.randn(32, 5, generator=generator)
        optimiser.zero_grad()
        ((given @ (matrix - wanted).T) ** 2).mean().backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    assert (matrix - wanted).abs().max() < 0.05


def test_a_stepper_gives_matrices_to_muon_and_the_rest_to_adamw_and_resumes() -> None:
    def fresh() -> tuple[Stepper, list[nn.Parameter]]:
        generator = torch.Generator().manual_seed(3)
        made = [
            ("trunk.layers.0.weight", nn.Parameter(torch.randn(3, 4, generator=generator))),
            ("trunk.embed_tokens.weight", nn.Parameter(torch.randn(9, 4, generator=generator))),
            ("trunk.norm.weight", nn.Parameter(torch.ones(4))),
        ]
        return Stepper(made, Optimiser(name="muon", rate=0.01)), [p for _, p in made]

    def learn(stepper: Stepper, parameters: list[nn.Parameter], seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for parameter in parameters:
            parameter.grad = torch.randn(parameter.shape, generator=generator)
        stepper.step(0.01)

    whole, parameters = fresh()
    learn(whole, parameters, 1)
    state = {name: tensor.clone() for name, tensor in whole.state().items()}
    assert "moment/trunk.layers.0.weight/momentum" in state
    assert "moment/trunk.embed_tokens.weight/exp_avg" in state
    learn(whole, parameters, 2)
    resumed, again = fresh()
    resumed.load(state)
    learn(resumed, again, 2)
    for one, other in zip(parameters, again, strict=True):
        assert torch.equal(one, other)


def test_a_pull_draws_matrices_back_to_where_they_began_and_nothing_else() -> None:
    made = [
        ("trunk.layers.0.weight", nn.Parameter(torch.ones(2, 2))),
        ("trunk.norm.weight", nn.Parameter(torch.ones(2))),
    ]
    stepper = Stepper(made, Optimiser(name="adamw", rate=0.1, pull=0.5))
    (_, matrix), (_, norm) = made
    with torch.no_grad():
        matrix.add_(1.0)
        norm.add_(1.0)
    for _ in range(2):
        matrix.grad, norm.grad = torch.zeros(2, 2), torch.zeros(2)
        stepper.step(0.1)
    assert matrix.detach().flatten().tolist() == pytest.approx([1 + 0.95**2] * 4)
    assert norm.detach().tolist() == [2.0, 2.0]


def test_a_pull_and_eight_bits_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="pull needs a copy of the weights"):
        Optimiser(name="adamw-8bit", pull=0.1)
