"""Token rows to logits and features at slots: one protocol, and an engine for every machine.

May import ``checkpoint`` and the plain data at the root; never questions, wording or ``decide``.
"""
