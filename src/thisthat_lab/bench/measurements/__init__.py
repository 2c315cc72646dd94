"""One file per measurement: what is asked, of which system, and what is reported."""
