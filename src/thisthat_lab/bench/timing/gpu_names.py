"""What `bench gpu` calls its two models and the four ways to run them. Imports nothing."""

from __future__ import annotations

LARGE, SMALL = "1.88 B shape", "135 M default"
GRAPHS = "(a) fused kernels in graphs"
UNRECORDED = "(b) the same without graphs"
EAGER = "(c) transformers, eager"
FLOAT8 = "(d) as (a), products in float8"
WAYS = (GRAPHS, UNRECORDED, EAGER, FLOAT8)
