from __future__ import annotations

import numpy as np
import pytest

from thisthat.calibrate.fit import Labelled, calibration_error, fit_temperature, fit_temperatures
from thisthat.errors import InvalidInputError
from thisthat.questions import Kind
from thisthat.temperature import Temperatures, softmax


def drawn(kind: Kind, options: int, heat: float, count: int, seed: int) -> list[Labelled]:
    """Rows whose answers follow softmax(logits / heat)."""
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        logits = 3 * random.standard_normal(options)
        rows.append(Labelled(kind, logits, int(random.choice(options, p=softmax(logits, heat)))))
    return rows


@pytest.mark.parametrize("heat", [0.5, 1.0, 2.5])
@pytest.mark.parametrize(("kind", "options"), [("boolean", 2), ("score", 5)])
def test_the_temperature_that_made_the_answers_is_found(
    kind: Kind, options: int, heat: float
) -> None:
    assert fit_temperature(drawn(kind, options, heat, 1500, 1)) == pytest.approx(heat, rel=0.15)


def test_adding_a_constant_to_the_logits_changes_nothing() -> None:
    rows = drawn("boolean", 2, 1.7, 500, 2)
    moved = [Labelled(row.kind, row.logits + 40, row.answer) for row in rows]
    assert fit_temperature(rows) == pytest.approx(fit_temperature(moved))


def test_every_type_gets_its_own_and_calibration_improves() -> None:
    rows = drawn("boolean", 2, 3.0, 1500, 3) + drawn("score", 4, 0.6, 1500, 4)
    fitted, groups = fit_temperatures(rows)
    assert fitted.by_kind["boolean"] == pytest.approx(3.0, rel=0.15)
    assert fitted.by_kind["score"] == pytest.approx(0.6, rel=0.15)
    assert fitted.by_options is None
    assert [group.rows for group in groups] == [1500, 1500]
    for group in groups:
        assert group.nll_after < group.nll_before
        assert group.ece_after < group.ece_before
    assert calibration_error(rows, fitted) < calibration_error(rows, Temperatures())


def test_choices_get_a_rule_in_the_number_of_options() -> None:
    rows = [
        row
        for options in (2, 4, 8, 16)
        for row in drawn("choice", options, 1 + 0.5 * np.log(options), 800, options)
    ]
    fitted, _ = fit_temperatures(rows)
    assert fitted.by_options is not None
    for options in (2, 4, 8, 16):
        expected = 1 + 0.5 * np.log(options)
        assert fitted.of("choice", options, "state-first") == pytest.approx(expected, rel=0.2)


def test_too_few_rows_are_refused() -> None:
    rows = drawn("boolean", 2, 1, 300, 5) + drawn("score", 3, 1, 199, 6)
    with pytest.raises(InvalidInputError, match=r"rows.score: 199 given; .* at least 200"):
        fit_temperatures(rows)
    with pytest.raises(InvalidInputError, match="none given"):
        fit_temperatures([])


def test_certain_and_hopeless_answers_stay_within_bounds() -> None:
    always = [Labelled("boolean", np.array([5.0, 0.0]), 0)] * 200
    never = [Labelled("boolean", np.array([5.0, 0.0]), 1)] * 200
    assert 0.05 <= fit_temperature(always) < 0.2
    assert fit_temperature(never) == pytest.approx(20, rel=0.01)
    assert fit_temperature([Labelled("choice", np.array([1.0]), 0)]) == 1.0
