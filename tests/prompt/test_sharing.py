from hypothesis import given, settings
from hypothesis import strategies as st

from tests.path_engine import PathEngine
from thisthat.engine.rows import Branch, Row, Slot
from thisthat.prompt.sharing import MOST_SHARED_TOKENS, share, with_longer_trunk

TOKENS = st.lists(st.integers(0, 2), max_size=6).map(tuple)


@st.composite
def branches(draw: st.DrawFn) -> Branch:
    tokens = (*draw(TOKENS), draw(st.integers(0, 2)))
    places = draw(st.sets(st.integers(0, len(tokens) - 1), min_size=1, max_size=2))
    return Branch(tokens, tuple(Slot(at, 3) for at in sorted(places)))


@st.composite
def rows_of_few_trunks(draw: st.DrawFn) -> Row:
    trunk = draw(st.one_of(TOKENS, st.sampled_from([(0, 1, 2), (0, 1, 2, 0, 1)])))
    return Row(
        prefix=draw(st.sampled_from([(), (9, 9)])),
        trunk=trunk,
        branches=tuple(draw(st.lists(branches(), min_size=1, max_size=3))),
        opened=draw(st.sampled_from([0, len(trunk), len(trunk) // 2])),
    )


ROWS = rows_of_few_trunks()


def logits(rows: list[Row]) -> list[list[list[float]]]:
    return [[each.tolist() for each in result.logits] for result in PathEngine().run(rows)]


@settings(deadline=None, max_examples=200)
@given(st.lists(ROWS, max_size=6))
def test_shared_rows_give_the_answers_of_the_rows_apart_in_no_more_tokens(rows: list[Row]) -> None:
    shared = share(rows)
    results = shared.apart(PathEngine().run(shared.rows))
    assert [[each.tolist() for each in result.logits] for result in results] == logits(rows)
    assert sum(row.fresh_tokens for row in shared.rows) <= sum(row.fresh_tokens for row in rows)


@settings(deadline=None, max_examples=200)
@given(ROWS)
def test_a_longer_trunk_keeps_every_path(row: Row) -> None:
    longer = with_longer_trunk(row)
    assert logits([longer]) == logits([row])
    assert longer.tokens <= row.tokens
    heads = {branch.tokens[:1] for branch in longer.branches}
    at_slot = any(branch.slots[0].at == 0 for branch in longer.branches)
    assert len(row.branches) == 1 or len(heads) > 1 or at_slot


def test_leaving_out_later_parts_shares_the_beginning() -> None:
    state = tuple(range(100))
    end = Branch((500,), (Slot(0, 2),))
    rows = [Row((), (*state[:k], *state[k + 10 :]), (end,)) for k in range(0, 100, 10)]
    shared = share(rows)
    assert shared.tokens < 0.75 * sum(row.tokens for row in rows)


def test_open_trunks_are_shared_whole_or_not_at_all() -> None:
    state = tuple(range(100))
    end = Branch((500,), (Slot(0, 2),))
    alike = [Row((), state, (end,), opened=100)] * 2
    (joined,) = share(alike).rows
    assert (joined.trunk, joined.opened, len(joined.branches)) == (state, 100, 2)
    longer = Row((), (*state, 100), (end,), opened=101)
    closed = Row((), state, (end,))
    assert share([alike[0], longer, alike[0], closed]).rows == (alike[0], longer, alike[0], closed)


def test_what_moves_into_an_open_trunk_is_not_open() -> None:
    row = Row((), (1, 2), (Branch((3, 4), (Slot(1, 2),)), Branch((3, 5), (Slot(1, 2),))), opened=2)
    longer = with_longer_trunk(row)
    assert (longer.trunk, longer.opened) == ((1, 2, 3), 2)


def test_a_shared_row_stays_below_its_limit() -> None:
    end = Branch((1,), (Slot(0, 2),))
    rows = [Row((), (0,) * 100 + (number,) * 200, (end,)) for number in range(8)]
    shared = share(rows)
    assert 1 < len(shared.rows) < 8
    assert max(row.fresh_tokens for row in shared.rows) <= MOST_SHARED_TOKENS


def test_long_rows_share_their_beginning_when_it_is_most_of_them() -> None:
    end = Branch((1,), (Slot(0, 2),))
    mostly = [Row((), (0,) * 1000 + (number,) * 100, (end,)) for number in range(1, 3)]
    assert len(share(mostly).rows) == 1
    hardly = [Row((), (0,) * 300 + (number,) * 800, (end,)) for number in range(1, 3)]
    assert len(share(hardly).rows) == 2


def test_nothing_to_share_is_nothing() -> None:
    assert share([]).rows == ()
