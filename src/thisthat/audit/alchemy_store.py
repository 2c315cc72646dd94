"""Log lines in any database that SQLAlchemy reaches by URL."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from thisthat.audit.beside import CLIENT_REQUESTS, KEY_CHARACTERS, TABLES, Row, Table, beside, fresh
from thisthat.audit.chain import (
    Place,
    beginning,
    loss_of,
    note_of,
    places_of,
    purge_of,
    rows_of,
    runs_of,
)
from thisthat.audit.entry import COLUMNS, NUMBERS, Entry, values_of
from thisthat.audit.protocol import LogError, check_past, covers, known_filter, lost
from thisthat.errors import InvalidInputError, MissingExtraError

_TRIES = 5
_KEYS_AT_ONCE = 500


class AlchemyStore:
    """A database; its own permissions decide who may change lines, the chain shows who did.

    Several processes may write to it: each append locks the first row of the chain before it reads
    where the chain ends.
    """

    def __init__(self, url: str) -> None:
        try:
            sqlalchemy: Any = importlib.import_module("sqlalchemy")
        except ImportError:
            raise MissingExtraError(f"the decision log {url.split(':')[0]}://", "audit") from None
        self._alchemy = sqlalchemy
        self._name = url.split("://")[0]
        try:
            # An error must not carry states into the program's own log.
            self._engine = sqlalchemy.create_engine(url, hide_parameters=True)
        # An unusable URL, a missing driver, or bad driver arguments.
        except (sqlalchemy.exc.SQLAlchemyError, ImportError, ValueError, TypeError) as error:
            raise InvalidInputError("log", f"{self._name}: cannot be used: {error}") from error
        column, integer, text = sqlalchemy.Column, sqlalchemy.Integer, sqlalchemy.Text
        self._metadata = sqlalchemy.MetaData()
        self._table = sqlalchemy.Table(
            "decisions",
            self._metadata,
            column("id", integer, primary_key=True, autoincrement=True),
            *(
                # Float is too short for a time in some databases.
                column(name, sqlalchemy.Double if name in NUMBERS else text, index=name == "time")
                for name in COLUMNS
            ),
        )
        self._chain = sqlalchemy.Table(
            "chain",
            self._metadata,
            column("number", sqlalchemy.BigInteger, primary_key=True, autoincrement=False),
            column("line", sqlalchemy.BigInteger, index=True),
            column("event", text),
            column("link", sqlalchemy.String(64), nullable=False),
        )
        types = {str: text, int: sqlalchemy.BigInteger, float: sqlalchemy.Double}
        self._beside = {
            table.name: sqlalchemy.Table(
                table.name,
                self._metadata,
                column("key", sqlalchemy.String(KEY_CHARACTERS), primary_key=True),
                *(column(each, types[kind]) for each, kind in table.content.items()),
                column("recorded", sqlalchemy.Double, nullable=False),
                *([column("place", sqlalchemy.BigInteger, unique=True)] if table.chained else []),
            )
            for table in TABLES
        }
        for index, found in (
            ("decisions_by_request", self._table.c.request),
            ("requests_by_client", self._beside[CLIENT_REQUESTS.name].c.client),
        ):
            sqlalchemy.Index(index, found, mysql_length=128)
        self._ready = False
        self._written: Place | None = None

    def append(self, entries: Sequence[Entry]) -> None:
        """Write the lines in one transaction; without any, only the chain is begun.

        Raises LogError, also when places that this object wrote have disappeared; such a loss is
        recorded in the chain before.
        """
        ids = self._table.c.id
        with self._writing() as connection:
            last, known = self._last(connection), self._written
            gone = known is not None and not self._has(connection, known)
            if known is not None and gone:
                places = [loss_of(last, known)]
            else:
                used = connection.scalar(self._alchemy.select(self._alchemy.func.max(ids)))
                places = places_of(last, (used or 0) + 1, entries)
                rows = [
                    {"id": place.line, **dict(zip(COLUMNS, values_of(entry), strict=True))}
                    for place, entry in zip(places, entries, strict=True)
                ]
                if rows:
                    connection.execute(self._table.insert(), rows)
                for other, more in beside(entries).items():
                    self._add(connection, other, more)
            self._insert(connection, places)
        if places:
            self._written = places[-1]
        if known is not None and gone:
            raise lost(known, last)

    def read(
        self,
        where: Mapping[str, str] | None = None,
        since: float | None = None,
        until: float | None = None,
        limit: int | None = None,
    ) -> Iterator[Entry]:
        """The lines that match, newest first."""
        for _, entry in self.lines(where, since, until, limit):
            yield entry

    def lines(
        self,
        where: Mapping[str, str] | None = None,
        since: float | None = None,
        until: float | None = None,
        limit: int | None = None,
    ) -> Iterator[tuple[int, Entry]]:
        """Like ``read``, with the lines' ids."""
        columns = self._table.c
        query = self._table.select()
        for name, value in (where or {}).items():
            column = columns[known_filter(name, value)]
            query = query.where(column == (int(value) if name == "id" else value))
        if since is not None:
            query = query.where(columns.time >= since)
        if until is not None:
            query = query.where(columns.time < until)
        query = query.order_by(columns.id.desc()).limit(limit)
        with self._transaction() as connection:
            for line, *values in connection.execution_options(stream_results=True).execute(query):
                yield line, Entry(*values)

    def add(self, table: Table, rows: Sequence[Row]) -> int:
        """Write the rows whose keys are new; any thread may call."""

        def add(connection: Any) -> int:
            self._lock(connection)
            return self._add(connection, table, rows)

        return self._tried(add)

    def note(self, about: Mapping[str, Any]) -> None:
        """Write a note into the chain; any thread may call."""

        def add(connection: Any) -> int:
            self._insert(connection, [note_of(self._last(connection), about)])
            return 1

        self._tried(add)

    def _tried(self, work: Callable[[Any], int]) -> int:
        for tried in range(1, _TRIES + 1):
            try:
                with self._writing() as connection:
                    return work(connection)
            except LogError as error:
                # Without a chain there is no lock: another writer began it or had a key first.
                if tried == _TRIES or not isinstance(
                    error.__cause__, self._alchemy.exc.IntegrityError
                ):
                    raise
        raise AssertionError

    def rows(self, table: Table, where: Mapping[str, str] | None = None) -> Iterator[Row]:
        """The rows of a table beside the decisions that match, in no order."""
        found = self._beside[table.name]
        query = self._alchemy.select(*(found.c[name] for name in table.columns)).where(
            *(found.c[name] == value for name, value in (where or {}).items())
        )
        yield from self._found(table, query)

    def rows_after(self, table: Table, place: int | None) -> Iterator[tuple[int | None, Row]]:
        """The rows of a chained table behind a place, in order; all of them for None."""
        found = self._beside[table.name]
        columns = (found.c[name] for name in ("place", *table.columns))
        query = self._alchemy.select(*columns).order_by(found.c.place)
        query = query if place is None else query.where(found.c.place > place)
        for at, *row in self._found(table, query):
            yield at, tuple(row)

    def _found(self, table: Table, query: Any) -> Iterator[tuple[Any, ...]]:
        with self._transaction() as connection:
            if self._alchemy.inspect(connection).has_table(table.name):
                for row in connection.execution_options(stream_results=True).execute(query):
                    yield tuple(row)

    def purge(self, before: float) -> int:
        """Delete lines older than ``before`` and record the purge in the chain."""
        check_past(before)
        table, chain = self._table, self._chain
        with self._writing() as connection:
            last = self._last(connection)
            joined = chain.join(table, chain.c.line == table.c.id)
            chained = self._alchemy.select(chain.c.number, chain.c.link).select_from(joined)
            chained = chained.where(table.c.time < before).order_by(chain.c.number)
            runs = runs_of((number, link) for number, link in connection.execute(chained))
            gone = connection.execute(table.delete().where(table.c.time < before)).rowcount
            for first, final, _ in runs:
                connection.execute(chain.delete().where(chain.c.number.between(first, final)))
            for other in self._beside.values():
                connection.execute(other.delete().where(other.c.recorded < before))
            self._insert(connection, [purge_of(last, before, int(gone), runs)])
        return int(gone)

    def ends(self) -> tuple[Place, Place] | None:
        """The first and the last place of the chain."""
        number = self._chain.c.number
        with self._transaction() as connection:
            if not self._has_chain(connection):
                return None
            both = [
                connection.execute(self._chain.select().order_by(order).limit(1)).first()
                for order in (number.asc(), number.desc())
            ]
        return None if both[0] is None else (Place(*both[0]), Place(*both[1]))

    def chain(self, *, events: bool = False) -> Iterator[tuple[Place, Entry | None]]:
        """The places of the chain in order, with their lines, or only its events."""
        table, chain = self._table, self._chain
        joined = chain.outerjoin(table, chain.c.line == table.c.id)
        query = self._alchemy.select(*chain.c, *table.c).select_from(joined)
        if events:
            query = query.where(chain.c.event.is_not(None))
        query = query.order_by(chain.c.number)
        with self._transaction() as connection:
            if self._has_chain(connection):
                lines = connection.execution_options(stream_results=True).execute(query)
                for number, line, event, link, found, *values in lines:
                    entry = None if found is None else Entry(*values)
                    yield Place(number, line, event, link), entry

    def strays(self) -> Iterator[tuple[int, Entry]]:
        """Lines that have no place in the chain, by their id."""
        table, chain = self._table, self._chain
        query = table.select().order_by(table.c.id)
        with self._transaction() as connection:
            if self._has_chain(connection):
                known = self._alchemy.select(chain.c.number).where(chain.c.line == table.c.id)
                query = query.where(~known.exists())
            for number, *values in connection.execute(query):
                yield number, Entry(*values)

    def close(self) -> None:
        """Close the database."""
        self._engine.dispose()

    def _has_chain(self, connection: Any) -> bool:
        return bool(self._alchemy.inspect(connection).has_table(self._chain.name))

    def _last(self, connection: Any) -> Place:
        """The last place of the chain, locked until the transaction ends; it begins if need be."""
        chain, table = self._chain, self._table
        self._lock(connection)
        row = connection.execute(chain.select().order_by(chain.c.number.desc()).limit(1)).first()
        if row is not None:
            return Place(*row)
        func = self._alchemy.func
        count = self._alchemy.select(func.coalesce(func.max(table.c.id), 0), func.count(table.c.id))
        begun = beginning(*connection.execute(count).one())
        self._insert(connection, [begun])
        return begun

    def _lock(self, connection: Any) -> None:
        """Keep other writers out until the transaction ends, unless the chain has not begun."""
        chain = self._chain
        connection.execute(chain.update().where(chain.c.number == 0).values(link=chain.c.link))

    def _add(self, connection: Any, table: Table, rows: Sequence[Row]) -> int:
        found, keys = self._beside[table.name], [row[0] for row in rows]
        known: dict[str, Row] = {}
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            some = self._alchemy.select(*(found.c[name] for name in table.columns))
            some = some.where(found.c.key.in_(keys[start : start + _KEYS_AT_ONCE]))
            known |= {row[0]: tuple(row) for row in connection.execute(some)}
        new = fresh(table, rows, known)
        if new:
            values = [dict(zip(table.columns, row, strict=True)) for row in new]
            if table.chained:
                places = rows_of(self._last(connection), table.name, new)
                self._insert(connection, places)
                for row, place in zip(values, places, strict=True):
                    row["place"] = place.number
            connection.execute(found.insert(), values)
        return len(new)

    def _has(self, connection: Any, known: Place) -> bool:
        """Whether a place is still in the chain, or was purged."""
        number = self._chain.c.number
        row = connection.execute(self._chain.select().where(number == known.number)).first()
        if row is not None:
            return Place(*row).link == known.link
        later = self._chain.select().where(self._chain.c.event.is_not(None), number > known.number)
        return covers([Place(*event) for event in connection.execute(later)], known.number)

    def _insert(self, connection: Any, places: Sequence[Place]) -> None:
        names = ("number", "line", "event", "link")
        rows = [{name: getattr(each, name) for name in names} for each in places]
        if rows:
            connection.execute(self._chain.insert(), rows)

    def _create(self) -> None:
        """Create the tables that are not there; another writer may be creating them, too."""
        for tried in range(1, _TRIES + 1):
            try:
                self._metadata.create_all(self._engine)
                break
            except self._alchemy.exc.DBAPIError:
                if tried == _TRIES:
                    raise
        self._ready = True

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        with self._transaction(create=True) as connection:
            yield connection

    @contextmanager
    def _transaction(self, create: bool = False) -> Iterator[Any]:
        """A transaction whose errors are LogError, unless they are about a value."""
        wrong = self._alchemy.exc
        try:
            if create and not self._ready:
                self._create()
            with self._engine.begin() as connection:
                yield connection
        except wrong.DataError:
            raise
        except (wrong.SQLAlchemyError, OSError) as error:
            if type(error) is wrong.StatementError:  # its subclasses come from the driver
                raise
            raise LogError(f"{self._name}: {error}") from error
