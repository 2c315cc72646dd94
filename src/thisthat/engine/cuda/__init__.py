"""Rows on one tape of tokens, run by fused kernels inside CUDA graphs. See docs/engines.md."""
