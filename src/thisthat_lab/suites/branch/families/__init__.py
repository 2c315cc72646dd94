"""The branch families, one file each: a module here with a ``FAMILY`` is one."""
