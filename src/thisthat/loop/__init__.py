"""From what happened to a better branch: assignment, sequential tests, evaluation from logs.

May import ``decide``, ``audit`` and plain data; only ``serve`` and ``cli`` import it.
"""
