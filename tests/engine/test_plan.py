import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thisthat.engine.plan import plan_lengths
from thisthat.errors import InvalidInputError

work = st.lists(st.tuples(st.integers(0, 60), st.sampled_from("abc")), max_size=40)
budgets = st.integers(1, 200)
shares = st.floats(0.0, 0.99)


@settings(deadline=None)
@given(work, budgets, shares)
def test_every_row_runs_once_within_budget_and_padding(
    work: list[tuple[int, str]], budget: int, share: float
) -> None:
    lengths = [length for length, _ in work]
    keys = [key for _, key in work]
    plan = plan_lengths(lengths, keys, budget, share)
    assert sorted(i for batch in plan.batches for i in batch.indices) == list(range(len(work)))
    for batch in plan.batches:
        assert len({keys[index] for index in batch.indices}) == 1
        assert batch.width == max(lengths[index] for index in batch.indices)
        assert batch.tokens == sum(lengths[index] for index in batch.indices)
        assert batch.area <= budget or len(batch.indices) == 1
        assert 0 <= batch.padding <= share * batch.area + 1e-9


@settings(deadline=None)
@given(work, budgets)
def test_results_come_back_in_the_callers_order(work: list[tuple[int, str]], budget: int) -> None:
    plan = plan_lengths([length for length, _ in work], [key for _, key in work], budget)
    answers = [[work[index] for index in batch.indices] for batch in plan.batches]
    assert plan.restore(answers) == work


def test_equal_rows_share_one_batch_when_the_budget_allows() -> None:
    plan = plan_lengths([8] * 6, [0] * 6, token_budget=48)
    assert [batch.indices for batch in plan.batches] == [(0, 1, 2, 3, 4, 5)]
    assert len(plan_lengths([8] * 6, [0] * 6, token_budget=47).batches) == 2


def test_rows_are_grouped_by_key() -> None:
    plan = plan_lengths([6, 6, 6], ["a", "b", "a"], token_budget=12)
    assert [batch.indices for batch in plan.batches] == [(0, 2), (1,)]
    assert [batch.width for batch in plan.batches] == [6, 6]


def test_results_that_do_not_match_the_plan_are_refused() -> None:
    plan = plan_lengths([3, 3], [0, 0], token_budget=100)
    with pytest.raises(ValueError):
        plan.restore([["only one"]])


@pytest.mark.parametrize(
    ("budget", "share", "field"),
    [(0, 0.1, "token_budget"), (5, 1.0, "most_padding"), (5, -0.1, "most_padding")],
)
def test_limits_are_named(budget: int, share: float, field: str) -> None:
    with pytest.raises(InvalidInputError, match=field):
        plan_lengths([1], [0], budget, share)
