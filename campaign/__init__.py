"""Attacks, faults and long runs against the real server: what docs/reliability.md reports.

One file a part; each has ``run(size)``, which gives findings. Nothing imports it.
"""
