"""What every suite of records and rules is built on: families, settings, fields, clauses, words."""
