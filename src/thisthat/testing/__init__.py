"""Decisions under test: cases with an expected option, run against a checkpoint or a server.

May import ``remote``, ``decide``, ``items`` and the plain data at the root.
"""
