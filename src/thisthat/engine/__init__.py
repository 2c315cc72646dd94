"""Token rows to logits and features at slots: one protocol, and an engine for every machine."""
