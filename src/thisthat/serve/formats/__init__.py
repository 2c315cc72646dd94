"""One file per wire format, and what the formats share."""
