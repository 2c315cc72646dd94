import torch
from hypothesis import given
from hypothesis import strategies as st

from thisthat_lab.train.model.row_blocks import BLOCK, blocks_of, even_bounds

ROWS = st.lists(st.integers(0, 200), min_size=1, max_size=9)


@given(ROWS, st.data())
def test_every_token_stands_in_one_block_of_its_row(
    lengths: list[int], data: st.DataObject
) -> None:
    ends = torch.tensor([0, *lengths], dtype=torch.int32).cumsum(0)
    tokens = int(ends[-1])
    wanted = None
    if tokens and data.draw(st.booleans()):
        places = data.draw(st.lists(st.integers(0, tokens - 1), min_size=1, max_size=5))
        wanted = torch.tensor(places)
    blocks = blocks_of(ends.int(), tokens, wanted)
    for table, last_first in ((blocks.forward, False), (blocks.backward, True)):
        assert table.dtype == torch.int32
        seen: list[int] = []
        before: tuple[int, int, int] | None = None
        for first, start, end, asked, number in table.tolist():
            if first == end:
                continue
            assert (first - start) % BLOCK == 0
            inside = range(first, min(first + BLOCK, end))
            seen += inside
            own = [] if wanted is None else [p for p in wanted.tolist() if start <= p < end]
            assert asked == (min(own) if own else start)
            forward = blocks.forward.tolist()
            assert forward[number + (first - start) // BLOCK][:3] == [first, start, end]
            if before is not None and before[1:] == (start, end):
                assert (before[0] > first) == last_first
            elif before is not None:
                assert before[2] - before[1] >= end - start
            before = (first, start, end)
        assert sorted(seen) == list(range(tokens))


def test_rows_of_one_length_have_even_bounds() -> None:
    assert even_bounds(3, 5, torch.device("cpu")).tolist() == [0, 5, 10, 15]
