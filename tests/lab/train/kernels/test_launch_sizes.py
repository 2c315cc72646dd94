import pytest

from thisthat_lab.train.kernels.launch_sizes import pieces, power_of_two


@pytest.mark.parametrize(("whole", "piece", "wanted"), [(0, 4, 0), (1, 4, 1), (8, 4, 2), (9, 4, 3)])
def test_pieces_cover_the_whole(whole: int, piece: int, wanted: int) -> None:
    assert pieces(whole, piece) == wanted


@pytest.mark.parametrize(("size", "wanted"), [(0, 1), (1, 1), (2, 2), (3, 4), (576, 1024)])
def test_powers_of_two_hold_the_size(size: int, wanted: int) -> None:
    assert power_of_two(size) == wanted
