"""HTTP: one app, one scheduler, one file per wire format, limits, metrics, the web page."""
