"""The decision log: who was told what, when, by which weights and under which policy.

May import ``decide``, ``calibrate`` (for drift) and the plain data at the root.
"""
