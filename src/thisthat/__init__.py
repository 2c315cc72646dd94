"""thisthat: the smart if-statement."""

__version__ = "0.1.0"
