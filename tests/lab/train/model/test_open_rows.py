import torch
from hypothesis import example, given
from hypothesis import strategies as st

from thisthat.engine.bidirectional import since as seen_since
from thisthat_lab.train.model.open_rows import open_rows

ROW = st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))


@given(st.lists(ROW, min_size=1, max_size=6))
@example([(2, 1030, 3), (0, 5, 0)])  # an open state of more than one block
def test_the_last_that_a_token_sees_is_the_last_that_is_seen_by_it(
    rows: list[tuple[int, int, int]],
) -> None:
    since: list[int] = []
    bounds = [0]
    for before, opened, after in rows:
        own = seen_since(before + opened + after, opened, before)
        since += (own + bounds[-1]).tolist()
        bounds.append(len(since))
    made = open_rows(torch.tensor(since, dtype=torch.int32))
    assert made.since.tolist() == since
    assert made.until.dtype == torch.int32
    for token, last in enumerate(made.until.tolist()):
        end = next(bound for bound in bounds if bound > token)
        assert last == max(key for key in range(end) if since[key] <= token)
