"""One file a command, or a group of commands. May import whatever ``thisthat.cli`` may."""
