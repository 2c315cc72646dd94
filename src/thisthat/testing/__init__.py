"""Decisions under test: cases with an expected option, run against a checkpoint or a server.

May import ``decide``, ``remote`` and the plain data at the root.
"""
