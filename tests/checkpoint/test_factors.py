from __future__ import annotations

import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from thisthat.checkpoint.factors import Factors, factor_numbers, factor_stream, nearest_factors


@given(
    arrays(
        np.int16,
        st.tuples(st.integers(1, 4), st.integers(2, 9)),
        elements=st.integers(-32639, 32639),
    )
)
def test_numbers_survive_their_stream(numbers: NDArray[np.int16]) -> None:
    factors = Factors(numbers, np.ones(len(numbers), np.float32))
    content = zlib.decompress(factor_stream(factors))
    assert len(content) == 2 * numbers.size
    assert np.array_equal(factor_numbers(content, factors.rank), numbers)


def test_components_that_are_only_rounding_are_left_out() -> None:
    random = np.random.default_rng(0)
    left = random.standard_normal((300, 4), dtype=np.float32)
    matrix = left @ random.standard_normal((4, 200), dtype=np.float32)
    assert nearest_factors(matrix, 32).rank == 4


@pytest.mark.parametrize("shape", [(900, 150), (150, 900)])
def test_a_weak_component_keeps_its_shape(shape: tuple[int, int]) -> None:
    random = np.random.default_rng(0)
    columns = np.linalg.qr(random.standard_normal((shape[0], 5))).Q
    rows = np.linalg.qr(random.standard_normal((shape[1], 5))).Q.T
    matrix = (columns * 10.0 ** -np.arange(5)) @ rows
    found = nearest_factors(matrix.astype(np.float32), 5)
    for numbers, column, row in zip(found.numbers.astype(float), columns.T, rows, strict=True):
        for factor, true in ((numbers[: shape[0]], column), (numbers[shape[0] :], row)):
            assert abs(factor @ true) > 0.9999 * np.linalg.norm(factor)


def test_the_same_matrix_gives_the_same_bits_in_any_thread() -> None:
    matrix = np.random.default_rng(0).standard_normal((400, 300), dtype=np.float32)
    first = nearest_factors(matrix, 20)
    second = nearest_factors(matrix, 20)
    assert np.array_equal(first.numbers, second.numbers)
    assert np.array_equal(first.scales, second.scales)
    with ThreadPoolExecutor(4) as pool:
        products = list(pool.map(first.product, [400] * 8))
    assert all(np.array_equal(each, products[0]) for each in products)
