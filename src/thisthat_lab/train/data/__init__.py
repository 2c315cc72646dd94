"""Training rows: where they come from, how they vary, and how they become batches."""
