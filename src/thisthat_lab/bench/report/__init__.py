"""Results for people: tables, plots, the report and the pages of the docs."""
