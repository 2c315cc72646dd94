"""Training: run files, data, the model, its kernels, and the loop that puts them together."""
