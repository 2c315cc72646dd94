"""The decision log: who was told what, when, by which weights and under which policy.

May import ``calibrate`` (for drift), ``decide`` and the plain data at the root.
"""
