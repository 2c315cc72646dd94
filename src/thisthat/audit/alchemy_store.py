"""Log lines in any database that SQLAlchemy reaches by URL."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from thisthat.audit.beside import CLIENT_REQUESTS, KEY_CHARACTERS, TABLES, Row, Table
from thisthat.audit.chain import Place, unchained_up_to
from thisthat.audit.chained_store import CHAIN, ChainedStore, Result, Transaction
from thisthat.audit.entry import COLUMNS, NUMBERS, Entry, values_of
from thisthat.audit.protocol import LogError, NoLogYetError, known_filter
from thisthat.errors import InvalidInputError, MissingExtraError

_TRIES = 5
_KEYS_AT_ONCE = 500


class AlchemyStore(ChainedStore):
    """A database; its own permissions decide who may change lines, the chain shows who did.

    Several processes may write to it: each append locks the first row of the chain before it reads
    where the chain ends.
    """

    database: AlchemyDatabase

    def __init__(self, url: str) -> None:
        super().__init__(AlchemyDatabase(url))


class AlchemyDatabase:
    """A ``Database`` at a URL; its tables are made on the first write."""

    def __init__(self, url: str) -> None:
        try:
            sqlalchemy: Any = importlib.import_module("sqlalchemy")
        except ImportError:
            raise MissingExtraError(f"the decision log {url.split(':')[0]}://", "audit") from None
        self.alchemy = sqlalchemy
        self._name = url.split("://")[0]
        try:
            # An error must not carry states into the program's own log.
            self.engine = sqlalchemy.create_engine(url, hide_parameters=True)
        # An unusable URL, a missing driver, or bad driver arguments.
        except (sqlalchemy.exc.SQLAlchemyError, ImportError, ValueError, TypeError) as error:
            raise InvalidInputError("log", f"{self._name}: cannot be used: {error}") from error
        column, integer, text = sqlalchemy.Column, sqlalchemy.Integer, sqlalchemy.Text
        self.metadata = sqlalchemy.MetaData()
        self.table = sqlalchemy.Table(
            "decisions",
            self.metadata,
            column("id", integer, primary_key=True, autoincrement=True),
            *(
                # Float is too short for a time in some databases.
                column(name, sqlalchemy.Double if name in NUMBERS else text, index=name == "time")
                for name in COLUMNS
            ),
        )
        self.chain = sqlalchemy.Table(
            CHAIN,
            self.metadata,
            column("number", sqlalchemy.BigInteger, primary_key=True, autoincrement=False),
            column("line", sqlalchemy.BigInteger, index=True),
            column("event", text),
            column("link", sqlalchemy.String(64), nullable=False),
        )
        types = {str: text, int: sqlalchemy.BigInteger, float: sqlalchemy.Double}
        self.beside = {
            table.name: sqlalchemy.Table(
                table.name,
                self.metadata,
                column("key", sqlalchemy.String(KEY_CHARACTERS), primary_key=True),
                *(column(each, types[kind]) for each, kind in table.content.items()),
                column("recorded", sqlalchemy.Double, nullable=False),
                *([column("place", sqlalchemy.BigInteger, unique=True)] if table.chained else []),
            )
            for table in TABLES
        }
        for index, found in (
            ("decisions_by_request", self.table.c.request),
            ("requests_by_client", self.beside[CLIENT_REQUESTS.name].c.client),
        ):
            sqlalchemy.Index(index, found, mysql_length=128)
        self._ready = False
        self._has_lines = False
        self._looked = self._purged = 0

    @contextmanager
    def writing(self, *, create: bool = True) -> Iterator[AlchemyStatements]:
        """A transaction over tables that are there; a database needs no other making."""
        with self._transaction(create=True) as connection:
            yield AlchemyStatements(self, connection)

    @contextmanager
    def reading(self) -> Iterator[AlchemyStatements]:
        """A transaction that makes no tables."""
        with self._transaction(create=False) as connection:
            yield AlchemyStatements(self, connection)

    def following(self) -> AbstractContextManager[AlchemyStatements]:
        """The same as ``reading``: the pool keeps connections open."""
        return self.reading()

    def run(self, work: Callable[[Transaction], Result]) -> Result:
        """Do some work, again if another writer came first."""
        for tried in range(1, _TRIES + 1):
            try:
                with self.writing() as statements:
                    return work(statements)
            except LogError as error:
                # Without a chain there is no lock: another writer began it or had a key first.
                clash = isinstance(error.__cause__, self.alchemy.exc.IntegrityError)
                if tried == _TRIES or not clash:
                    raise
        raise AssertionError

    def check_lines(self, statements: AlchemyStatements) -> None:
        """Raise NoLogYetError unless the table of lines is there, now or before."""
        self._has_lines = self._has_lines or statements.has_table(self.table.name)
        if not self._has_lines:
            raise NoLogYetError(f"{self._name}: has no decision log")

    def last_purge(self, statements: AlchemyStatements, last: int) -> int:
        """The place of the last purge up to the end of the chain, 0 without any.

        Only what came since it was asked for is looked at.
        """
        if last < self._looked:  # another log is in its place
            self._looked = self._purged = 0
        self._purged = statements.last_purge(self._looked) or self._purged
        self._looked = last
        return self._purged

    def close(self) -> None:
        """Close the database."""
        self.engine.dispose()

    def _create(self) -> None:
        """Create the tables that are not there; another writer may be creating them, too."""
        for tried in range(1, _TRIES + 1):
            try:
                self.metadata.create_all(self.engine)
                break
            except self.alchemy.exc.DBAPIError:
                if tried == _TRIES:
                    raise
        self._ready = True

    @contextmanager
    def _transaction(self, *, create: bool) -> Iterator[Any]:
        """A transaction whose errors are LogError, unless they are about a value."""
        wrong = self.alchemy.exc
        try:
            if create and not self._ready:
                self._create()
            with self.engine.begin() as connection:
                yield connection
        except wrong.DataError:
            raise
        except (wrong.SQLAlchemyError, OSError) as error:
            if type(error) is wrong.StatementError:  # its subclasses come from the driver
                raise
            raise LogError(f"{self._name}: {error}") from error


class AlchemyStatements:
    """A ``Transaction`` over a connection that is in one."""

    def __init__(self, database: AlchemyDatabase, connection: Any) -> None:
        self._database = database
        self._alchemy, self._connection = database.alchemy, connection
        self._table, self._chain, self._beside = database.table, database.chain, database.beside

    def has_table(self, name: str) -> bool:
        """See Transaction."""
        return bool(self._alchemy.inspect(self._connection).has_table(name))

    def lock(self) -> None:
        """See Transaction. Every writer changes the first row of the chain, to what it is."""
        chain = self._chain
        first = chain.update().where(chain.c.number == 0)
        self._connection.execute(first.values(link=chain.c.link))

    def end_place(self, *, last: bool) -> Place | None:
        """See Transaction."""
        number = self._chain.c.number
        order = number.desc() if last else number.asc()
        return self._place(self._chain.select().order_by(order).limit(1))

    def place(self, number: int) -> Place | None:
        """See Transaction."""
        return self._place(self._chain.select().where(self._chain.c.number == number))

    def events_after(self, number: int) -> Iterable[Place]:
        """See Transaction."""
        chain = self._chain.c
        later = self._chain.select().where(chain.event.is_not(None), chain.number > number)
        return [Place(*event) for event in self._connection.execute(later)]

    def old_places(self, before: float) -> Iterable[tuple[int, str]]:
        """See Transaction."""
        table, chain = self._table, self._chain
        joined = chain.join(table, chain.c.line == table.c.id)
        query = self._alchemy.select(chain.c.number, chain.c.link).select_from(joined)
        query = query.where(table.c.time < before).order_by(chain.c.number)
        return ((number, link) for number, link in self._connection.execute(query))

    def chained_lines(self, *, events: bool) -> Iterator[tuple[Place, Entry | None]]:
        """See Transaction."""
        table, chain = self._table, self._chain
        joined = chain.outerjoin(table, chain.c.line == table.c.id)
        query = self._alchemy.select(*chain.c, *table.c).select_from(joined)
        if events:
            query = query.where(chain.c.event.is_not(None))
        for number, line, event, link, found, *values in self._streamed(
            query.order_by(chain.c.number)
        ):
            entry = None if found is None else Entry(*values)
            yield Place(number, line, event, link), entry

    def insert_places(self, places: Sequence[Place]) -> None:
        """See Transaction."""
        names = ("number", "line", "event", "link")
        rows = [{name: getattr(each, name) for name in names} for each in places]
        self._insert(self._chain, rows)

    def delete_places(self, first: int, last: int) -> None:
        """See Transaction."""
        chain = self._chain
        self._connection.execute(chain.delete().where(chain.c.number.between(first, last)))

    def line_count(self) -> tuple[int, int]:
        """See Transaction."""
        func, ids = self._alchemy.func, self._table.c.id
        query = self._alchemy.select(func.coalesce(func.max(ids), 0), func.count(ids))
        highest, count = self._connection.execute(query).one()
        return highest, count

    def last_id(self) -> int:
        """See Transaction. A line's id is never beyond its place, so none that was purged had one
        beyond the place of the purge."""
        func, ids = self._alchemy.func, self._table.c.id
        query = self._alchemy.select(func.coalesce(func.max(ids), 0))
        highest = int(self._connection.execute(query).scalar_one())
        first, last = self.end_place(last=False), self.end_place(last=True)
        if first is None or last is None:
            return highest
        purged = self._database.last_purge(self, last.number)
        return max(highest, unchained_up_to(first) + purged) if purged else highest

    def last_purge(self, after: int) -> int | None:
        """The place of the last purge behind a number."""
        chain = self._chain.c
        query = self._alchemy.select(self._alchemy.func.max(chain.number))
        purges = query.where(chain.number > after, chain.event.like('{"purge"%'))
        found: int | None = self._connection.execute(purges).scalar_one()
        return found

    def lines(
        self, where: Mapping[str, str], since: float | None, until: float | None, limit: int | None
    ) -> Iterator[tuple[int, Entry]]:
        """See Transaction."""
        self._database.check_lines(self)
        columns = self._table.c
        query = self._table.select()
        for name, value in where.items():
            column = columns[known_filter(name, value)]
            query = query.where(column == (int(value) if name == "id" else value))
        if since is not None:
            query = query.where(columns.time >= since)
        if until is not None:
            query = query.where(columns.time < until)
        for line, *values in self._streamed(query.order_by(columns.id.desc()).limit(limit)):
            yield line, Entry(*values)

    def strays(self, *, chained: bool) -> Iterator[tuple[int, Entry]]:
        """See Transaction."""
        table, chain = self._table, self._chain
        query = table.select().order_by(table.c.id)
        if chained:
            known = self._alchemy.select(chain.c.number).where(chain.c.line == table.c.id)
            query = query.where(~known.exists())
        for number, *values in self._connection.execute(query):
            yield number, Entry(*values)

    def insert_lines(self, lines: Sequence[tuple[int, Entry]]) -> None:
        """See Transaction."""
        rows = [
            {"id": number, **dict(zip(COLUMNS, values_of(entry), strict=True))}
            for number, entry in lines
        ]
        self._insert(self._table, rows)

    def delete_lines(self, before: float) -> int:
        """See Transaction."""
        table = self._table
        return int(self._connection.execute(table.delete().where(table.c.time < before)).rowcount)

    def rows(self, table: Table, where: Mapping[str, str]) -> Iterator[Row]:
        """See Transaction."""
        columns = self._beside[table.name].c
        query = self._selected(table).where(
            *(columns[name] == each for name, each in where.items())
        )
        for row in self._streamed(query):
            yield tuple(row)

    def rows_after(self, table: Table, place: int | None) -> Iterator[tuple[int | None, Row]]:
        """See Transaction."""
        places = self._beside[table.name].c.place
        query = self._selected(table, "place").order_by(places)
        for at, *row in self._streamed(query if place is None else query.where(places > place)):
            yield at, tuple(row)

    def rows_of_keys(self, table: Table, keys: Sequence[Any]) -> Iterable[Row]:
        """See Transaction."""
        key = self._beside[table.name].c.key
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            some = self._selected(table).where(key.in_(keys[start : start + _KEYS_AT_ONCE]))
            for row in self._connection.execute(some):
                yield tuple(row)

    def insert_rows(self, table: Table, rows: Sequence[Row], places: Sequence[Place]) -> None:
        """See Transaction."""
        values = [dict[str, Any](zip(table.columns, row, strict=True)) for row in rows]
        for row, place in zip(values, places, strict=bool(places)):
            row["place"] = place.number
        self._insert(self._beside[table.name], values)

    def delete_rows(self, table: Table, before: float) -> None:
        """See Transaction."""
        found = self._beside[table.name]
        self._connection.execute(found.delete().where(found.c.recorded < before))

    def _place(self, query: Any) -> Place | None:
        row = self._connection.execute(query).first()
        return None if row is None else Place(*row)

    def _selected(self, table: Table, *more: str) -> Any:
        found = self._beside[table.name]
        return self._alchemy.select(*(found.c[name] for name in (*more, *table.columns)))

    def _streamed(self, query: Any) -> Any:
        return self._connection.execution_options(stream_results=True).execute(query)

    def _insert(self, table: Any, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            self._connection.execute(table.insert(), rows)
