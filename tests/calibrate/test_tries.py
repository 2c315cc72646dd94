"""What was tried on the same labels before, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

from thisthat.calibrate.tries import Try, warning_about

NOW = Try("error<=0.1", 0.95, (), "mine 0.6.0", True)


def test_a_try_of_another_checkpoint_names_it_and_one_of_the_same_does_not() -> None:
    others = [replace(NOW, target="error<=0.2"), replace(NOW, checkpoint="thisthat-135m 0.6.0")]
    assert warning_about(others, NOW).startswith(
        "these labels were fitted before: error<=0.2 at 0.95; "
        "error<=0.1 at 0.95, asked of thisthat-135m 0.6.0. A target, question or checkpoint chosen"
    )


def test_every_try_adds_to_the_risk() -> None:
    others = [replace(NOW, target="error<=0.2"), replace(NOW, confidence=0.9)]
    assert "of up to 20.0%, not 5.0%" in warning_about(others, NOW)
