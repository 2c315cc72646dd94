import pytest

from tests.path_engine import path_decider
from tests.scale.support import QUESTIONS
from thisthat.errors import InvalidInputError

duckdb = pytest.importorskip("duckdb")


def test_a_schema_is_a_function_in_sql(monkeypatch: pytest.MonkeyPatch) -> None:
    from thisthat.scale.duckdb import register

    opened = []

    def open_decider(*_: object, **__: object) -> object:
        opened.append(1)
        return path_decider()

    monkeypatch.setattr("thisthat.decide.opening.open_decider", open_decider)
    connection = duckdb.connect()
    register(connection, "triage", QUESTIONS, layout="schema-first")
    connection.execute(
        "CREATE TABLE tickets AS SELECT n, CASE WHEN n = 1 THEN NULL WHEN n = 2 THEN "
        "repeat('x', 1001) ELSE 'state ' || n END AS body FROM range(3000) AS r(n)"
    )
    found = connection.execute(
        "SELECT n, triage(body).queue_best, triage(body).refund_probability, triage(body).error "
        "FROM tickets ORDER BY n"
    ).fetchall()
    alone = path_decider().decide("state 2999", QUESTIONS, layout="schema-first")
    sure = max(alone["refund"].probabilities.values())
    assert found[2999] == (2999, alone["queue"].best, sure, None)  # type: ignore[attr-defined]
    assert found[1] == (1, None, None, None)
    assert "1001 tokens" in found[2][3]
    assert len(found) == 3000
    assert opened == [1]
    with pytest.raises(InvalidInputError, match="explain: is not for batches"):
        register(connection, "other", QUESTIONS, explain=True)
