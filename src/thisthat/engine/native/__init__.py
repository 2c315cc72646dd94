"""Kernels of our own for a CPU: compiled on the machine they run on, for its instructions."""
