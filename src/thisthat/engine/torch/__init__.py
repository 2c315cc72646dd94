"""Any causal model of `transformers`, on CUDA, MPS or a CPU."""
