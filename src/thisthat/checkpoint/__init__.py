"""Where weights come from: cache, verified download, base + lambda * delta, the card."""

from thisthat.checkpoint.card import Card, read_card, write_card
from thisthat.checkpoint.checkpoint import Checkpoint, describe, open_checkpoint

__all__ = ["Card", "Checkpoint", "describe", "open_checkpoint", "read_card", "write_card"]
