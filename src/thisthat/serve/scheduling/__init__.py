"""When a request is admitted, until when it must begin, and what runs together."""
