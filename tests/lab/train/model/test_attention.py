import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lab.train.data.test_packs import CPU, WEIGHTS, row
from tests.lab.train.tiny import config
from thisthat_lab.train.config import Model
from thisthat_lab.train.data.buckets import Buckets, Shape
from thisthat_lab.train.data.packs import Packs, packed_shapes
from thisthat_lab.train.data.stream import Fed, feed_batch
from thisthat_lab.train.model.attention import BlockMasks, attend
from thisthat_lab.train.model.backbone import build_backbone


def packed_batch(lengths: list[int], spans: list[tuple[int, int]], room: int) -> Fed:
    packs = Packs(packed_shapes(room, 400))
    for number, (length, span) in enumerate(zip(lengths, spans, strict=True)):
        assert packs.add(row(length, number, span)) is None
    (batch,) = packs.flush()
    return feed_batch(batch, pin=False)


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(2, 190), st.integers(0, 60), st.integers(0, 190)), max_size=6),
    st.integers(2, 190),
)
def test_a_mask_of_blocks_shows_what_rows_one_by_one_show(
    drawn: list[tuple[int, int, int]], first: int
) -> None:
    cut = [(n, min(start, n), min(count, n - min(start, n))) for n, start, count in drawn]
    lengths = [first, *(n for n, _, _ in cut)]
    spans = [(0, first), *((start, count) for _, start, count in cut)]
    fed = packed_batch(lengths, spans, room=1300)
    sight = fed.sight(CPU)
    assert sight.bounds is not None
    assert sight.since is not None
    masks = BlockMasks(1300, CPU)
    masks.draw(sight.bounds, torch.zeros(1300, dtype=torch.int32))  # an earlier batch's
    mask = masks.draw(sight.bounds, sight.since)
    random = torch.Generator().manual_seed(1)
    query = torch.randn(1300, 4, 8, generator=random)
    key, value = torch.randn(2, 1300, 2, 8, generator=random)
    found = attend(query, key, value, (sight.bounds, sight.longest, sight.since, mask), None)
    wanted = attend(query, key, value, (sight.bounds, sight.longest, sight.since, None), None)
    used = sum(lengths)
    torch.testing.assert_close(found[:used], wanted[:used], atol=1e-5, rtol=1e-4)


def test_an_open_state_is_read_both_ways_and_nothing_else_is() -> None:
    backbone = build_backbone(config(), WEIGHTS, range(255), Model(), CPU)
    buckets = Buckets([Shape(1, 12)])
    batch = buckets.add(row(12, 1, opened=(3, 6)))
    assert batch is not None
    fed = feed_batch(batch, pin=False)

    everywhere = torch.arange(12)

    def hidden(tokens: torch.Tensor, changed: int | None = None) -> torch.Tensor:
        tokens = tokens.clone()
        if changed is not None:
            tokens[0, changed] = (tokens[0, changed] + 1) % 60
        first = torch.zeros_like(everywhere)
        return backbone._hidden(tokens, first, everywhere, fed.sight(CPU)).detach()

    before = hidden(fed.tokens)
    moved_by_state = (hidden(fed.tokens, 7) - before).abs().amax(-1) > 1e-6
    assert moved_by_state.tolist() == [place >= 3 for place in range(12)]
    moved_by_question = (hidden(fed.tokens, 10) - before).abs().amax(-1) > 1e-6
    assert moved_by_question.tolist() == [place >= 10 for place in range(12)]
