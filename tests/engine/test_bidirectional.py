import pytest
from hypothesis import given
from hypothesis import strategies as st

from thisthat.engine import bidirectional
from thisthat.engine.bidirectional import OPEN_BLOCK, blocks, since

LENGTHS = st.integers(0, 40)


@given(before=LENGTHS, opened=LENGTHS, after=LENGTHS, block=st.integers(1, 12))
def test_an_open_token_is_seen_from_the_start_of_its_block(
    before: int, opened: int, after: int, block: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bidirectional, "OPEN_BLOCK", block)
        found = since(before + opened + after, opened, before).tolist()
    for place, first in enumerate(found):
        is_open = before <= place < before + opened
        wanted = before + (place - before) // block * block if is_open else place
        assert first == wanted


@given(opened=st.integers(0, 5_000))
def test_blocks_cover_the_open_tokens_in_order(opened: int) -> None:
    found = blocks(opened)
    assert [token for block in found for token in range(*block)] == list(range(opened))
    assert all(start % OPEN_BLOCK == 0 and end - start <= OPEN_BLOCK for start, end in found)


def test_a_block_has_1024_tokens() -> None:
    assert since(2_000, 1_500)[[0, 1_023, 1_024, 1_499, 1_500]].tolist() == [
        *(0, 0, 1_024, 1_024, 1_500)
    ]
