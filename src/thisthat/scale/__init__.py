"""Decisions in bulk: files of states, columns of states, SQL, clusters.

May import ``serve``, ``remote``, ``audit``, ``decide``, ``checkpoint`` and the plain data at the
root; only the command line and the root import it.
"""
