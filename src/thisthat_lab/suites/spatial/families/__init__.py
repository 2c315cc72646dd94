"""The fifteen families of the benchmark: of windows, of maps, of snakes, and the noisy actuator.

A module has several in ``FAMILIES``; their words stand in ``wordings.json``. May import ``ask``,
``scene`` and ``words``.
"""
