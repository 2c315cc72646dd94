"""Triton kernels of training, their launches, and the same operations in plain torch."""
