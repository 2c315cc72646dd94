"""The tables of a decision log in a SQLite file, and the triggers that refuse accidents."""

from __future__ import annotations

from thisthat.audit.beside import CLIENT_REQUESTS, TABLES, Table
from thisthat.audit.entry import COLUMNS, NUMBERS

_NOW = "(julianday('now') - 2440587.5) * 86400"
SCHEMA = f"""
CREATE TABLE IF NOT EXISTS decisions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  {", ".join(f"{name} {'REAL' if name in NUMBERS else 'TEXT'}" for name in COLUMNS)}
);
CREATE INDEX IF NOT EXISTS decisions_by_time ON decisions (time);
CREATE INDEX IF NOT EXISTS decisions_by_request ON decisions (request);
CREATE TABLE IF NOT EXISTS purges (at REAL NOT NULL, before REAL NOT NULL);
CREATE TABLE IF NOT EXISTS chain (
  number INTEGER PRIMARY KEY, line INTEGER, event TEXT, link TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS chain_by_line ON chain (line);
CREATE INDEX IF NOT EXISTS chain_events ON chain (number) WHERE event IS NOT NULL;
CREATE TRIGGER IF NOT EXISTS decisions_do_not_change BEFORE UPDATE ON decisions
  BEGIN SELECT RAISE(ABORT, 'the decision log is append-only'); END;
CREATE TRIGGER IF NOT EXISTS decisions_are_not_replaced BEFORE INSERT ON decisions
  WHEN EXISTS (SELECT 1 FROM decisions WHERE id = NEW.id)
  BEGIN SELECT RAISE(ABORT, 'the decision log is append-only'); END;
CREATE TRIGGER IF NOT EXISTS decisions_are_kept BEFORE DELETE ON decisions
  WHEN OLD.time >= (SELECT COALESCE(MAX(before), -1) FROM purges)
  BEGIN SELECT RAISE(ABORT, 'the decision log is append-only; purge by age'); END;
CREATE TRIGGER IF NOT EXISTS purges_are_past BEFORE INSERT ON purges
  WHEN NEW.before > {_NOW} + 60
  BEGIN SELECT RAISE(ABORT, 'only older lines can be purged'); END;
CREATE TRIGGER IF NOT EXISTS chain_does_not_change BEFORE UPDATE ON chain
  BEGIN SELECT RAISE(ABORT, 'the decision log is append-only'); END;
CREATE TRIGGER IF NOT EXISTS chain_is_not_replaced BEFORE INSERT ON chain
  WHEN EXISTS (SELECT 1 FROM chain WHERE number = NEW.number)
  BEGIN SELECT RAISE(ABORT, 'the decision log is append-only'); END;
CREATE TRIGGER IF NOT EXISTS chain_is_kept BEFORE DELETE ON chain
  WHEN OLD.line IS NULL OR EXISTS (SELECT 1 FROM decisions WHERE id = OLD.line)
  BEGIN SELECT RAISE(ABORT, 'the decision log is append-only; purge by age'); END;
"""
_TYPES = {str: "TEXT", int: "INTEGER", float: "REAL"}


def _beside(table: Table) -> str:
    """A table beside the decisions: its rows neither change nor go, except by a purge."""
    name, message = table.name, "is append-only"
    columns = ", ".join(f"{each} {_TYPES[kind]}" for each, kind in table.columns.items())
    rules = {
        "do_not_change": "BEFORE UPDATE ON {0}",
        "are_not_replaced": "BEFORE INSERT ON {0} "
        "WHEN EXISTS (SELECT 1 FROM {0} WHERE key = NEW.key)",
        "are_kept": "BEFORE DELETE ON {0} "
        "WHEN OLD.recorded >= (SELECT COALESCE(MAX(before), -1) FROM purges)",
    }
    triggers = "".join(
        f"CREATE TRIGGER IF NOT EXISTS {name}_{rule} {when.format(name)} "
        f"BEGIN SELECT RAISE(ABORT, '{name} {message}'); END;\n"
        for rule, when in rules.items()
    )
    columns += ", place INTEGER UNIQUE" if table.chained else ""
    return f"CREATE TABLE IF NOT EXISTS {name} ({columns}, PRIMARY KEY (key));\n{triggers}"


SCHEMA += "".join(map(_beside, TABLES))
SCHEMA += f"CREATE INDEX IF NOT EXISTS requests_by_client ON {CLIENT_REQUESTS.name} (client);\n"
