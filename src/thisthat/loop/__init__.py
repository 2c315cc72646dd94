"""From what happened to a better branch: assignment, sequential tests, evaluation from logs.

May import ``audit``, ``teach``, ``calibrate``, ``decide``, ``checkpoint``, ``items`` and the plain
data at the root; only ``remote``, ``serve`` and ``cli`` import it.
"""
