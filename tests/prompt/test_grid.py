from hypothesis import given
from hypothesis import strategies as st

from thisthat.prompt.grid import split_grids

WINDOW = "XXXXX\n#####\n..A##\n#####\n...##"


def cells(text: str) -> list[str]:
    return [piece.text for piece in split_grids(text) if piece.cells]


def test_a_window_is_found_in_its_text() -> None:
    assert cells(f"Local map:\n{WINDOW}") == WINDOW.split("\n")
    assert cells(f"Local map:\n{WINDOW}\n") == WINDOW.split("\n")


def test_rows_in_a_json_array_are_found() -> None:
    assert cells('{"rows": ["##.", "#A.", "..."], "size": 3}') == ["##.", "#A.", "..."]


def test_numbered_rows_are_found() -> None:
    assert cells("cols 0-3\n#..#\n 1 #.A#\n 2 ####") == ["#..#", "#.A#", "####"]


def test_a_window_at_the_edge_of_the_world_is_found() -> None:
    edge = "XXXXX\nXXXXX\nXXA..\nXX#..\nXX..."
    assert cells(f"Local map:\n{edge}") == edge.split("\n")


def test_words_lists_and_ellipses_are_not_grids() -> None:
    assert cells("yes\nfoo\nbar\nbaz") == []
    assert cells("USD\nEUR\nGBP\nCHF") == []
    assert cells("wait... what... no...") == []
    assert cells('["USD", "EUR", "GBP", "CHF"]') == []
    assert cells("-----\ntitle\n-----") == []


@given(st.text(alphabet='#.AX@\n ",ab1', max_size=200))
def test_pieces_always_join_back_to_the_text(text: str) -> None:
    assert "".join(piece.text for piece in split_grids(text)) == text
