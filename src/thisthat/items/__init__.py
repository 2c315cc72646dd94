"""Questions with known answers: one item, the files that hold items, the metrics over them."""
