"""The model under training: a decoder trunk and its attention."""
