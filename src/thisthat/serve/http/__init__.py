"""The app and the server around it: bodies, keys, limits, time limits, headers."""
