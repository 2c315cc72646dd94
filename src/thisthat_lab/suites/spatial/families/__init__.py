"""The fifteen families of the benchmark, one file each."""
