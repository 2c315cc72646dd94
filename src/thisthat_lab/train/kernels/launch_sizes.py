"""How many programs a kernel needs, and how wide their tiles are."""

from __future__ import annotations


def pieces(whole: int, piece: int) -> int:
    """How many pieces cover the whole."""
    return -(-whole // piece)


def power_of_two(size: int) -> int:
    """The smallest power of two that is not below ``size``; 1 for less than 1."""
    return 1 << max(0, size - 1).bit_length()
