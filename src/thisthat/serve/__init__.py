"""The server: http, wire formats, scheduling, the web page, and the service they share."""
