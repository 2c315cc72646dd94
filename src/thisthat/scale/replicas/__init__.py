"""Several servers that answer as one, on Ray Serve.

A front reads what is asked and sends it to the replica that keeps its schema; a conductor switches
the checkpoint on all replicas or on none.
"""
