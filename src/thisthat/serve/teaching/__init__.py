"""Teaching beside a server: the light teach in a process of its own, and what stands beside then.

May import ``serve``, ``teach`` and ``decide``. The process has a low priority and bounds on memory
and time; the server only passes its lines on.
"""
