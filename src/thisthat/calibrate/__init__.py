"""Offline: temperatures, thresholds with guarantees, policies and checks, fitted on labels.

May import ``decide``, ``checkpoint``, ``items`` and the plain data at the root.
"""
