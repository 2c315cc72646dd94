"""Fitting: what rows hold is learned, what they do not hold is left as the model says it."""

import numpy as np
import pytest

from thisthat import Boolean, Choice, Score
from thisthat.decide.heads import Head
from thisthat.engine.features import READOUTS
from thisthat.questions import Question
from thisthat.teach.collect import Again, Collected
from thisthat.teach.fit_head import (
    FOLDS,
    buckets_for,
    design_of,
    fit_head,
    folds_of,
    log_softmax,
    readouts_of,
)

YES = Boolean("Is it so?")
QUEUE = Choice(["billing", "shipping", "other"], "Which queue?")
LEVEL = Score(["calm", "annoyed", "angry", "furious"], "How angry?")


def collected(rows: int, options: int, seed: int = 0, width: int = 12) -> Collected:
    """Noise: answers, hidden states and words that have nothing to do with any label."""
    random = np.random.default_rng(seed)
    words = ["red", "green", "blue", "seven", "parcel", "tree"]
    return Collected(
        log_softmax(random.standard_normal((rows, options))),
        random.standard_normal((rows, 2, 3, width)).astype(np.float32),
        [" ".join(random.choice(words, 5)) for _ in range(rows)],
        (3, 6),
    )


def answered(head: Head, data: Collected) -> np.ndarray:
    each = zip(data.logs, data.features, data.texts, strict=True)
    return np.array([logs + head.shift(logs, hidden, text) for logs, hidden, text in each])


def test_hidden_states_are_learned_and_the_head_predicts_new_rows() -> None:
    data = collected(260, 2)
    labels = (data.features[:, 0, 0, 2] + data.features[:, 1, 0, 3] > 0).astype(int)
    fitted = fit_head(YES, Collected(*_part(data, slice(160))), labels[:160])
    assert fitted.head is not None
    assert fitted.head.layers == data.layers
    assert (fitted.after.argmax(axis=1) == labels[:160]).mean() > 0.75
    new = answered(fitted.head, Collected(*_part(data, slice(160, None))))
    assert (new.argmax(axis=1) == labels[160:]).mean() > 0.75
    assert (data.logs.argmax(axis=1) == labels).mean() < 0.6


def _part(data: Collected, rows: slice) -> tuple:
    return data.logs[rows], data.features[rows], data.texts[rows], data.layers


@pytest.mark.parametrize("question", [YES, Score(["low", "high"], "How high?")])
def test_what_the_slot_alone_tells_is_learned(question: Question) -> None:
    data = collected(260, 2)
    slot = READOUTS.index("slot")
    labels = (data.features[:, 0, slot, 2] + data.features[:, 1, slot, 3] > 0).astype(int)
    fitted = fit_head(question, Collected(*_part(data, slice(160))), labels[:160])
    assert fitted.head is not None
    new = answered(fitted.head, Collected(*_part(data, slice(160, None))))
    assert (new.argmax(axis=1) == labels[160:]).mean() > 0.75


def test_a_choice_whose_options_may_stand_in_any_order_is_not_read_at_its_slot() -> None:
    slot = READOUTS.index("slot")
    assert [slot in readouts_of(each) for each in (YES, LEVEL, QUEUE)] == [True, True, False]
    data = collected(120, 3)
    labels = np.arange(120) % 3
    data.features[np.arange(120), 0, 0, labels] += 4
    fitted = fit_head(QUEUE, data, labels)
    assert fitted.head is not None
    moved = data.features.copy()
    moved[:, :, slot] += 3
    turned = Collected(data.logs, moved, data.texts, data.layers)
    assert np.array_equal(answered(fitted.head, turned), answered(fitted.head, data))


def test_words_are_learned() -> None:
    data = collected(150, 2)
    labels = np.array([int("parcel" in text) for text in data.texts])
    fitted = fit_head(YES, data, labels)
    assert fitted.head is not None
    assert fitted.mixture
    assert (answered(fitted.head, data).argmax(axis=1) == labels).mean() > 0.95


@pytest.mark.parametrize("question", [YES, QUEUE, LEVEL])
def test_a_model_that_is_right_is_not_made_worse(question: Question) -> None:
    options = len(question.declared)
    data = collected(60, options, 5)
    labels = np.arange(60) % options
    sure = log_softmax(3 * np.eye(options)[labels] + 0.2 * data.logs)
    fitted = fit_head(question, Collected(sure, data.features, data.texts, data.layers), labels)
    assert (fitted.after.argmax(axis=1) == labels).mean() > 0.97


def test_labels_without_a_pattern_change_little() -> None:
    falls = []
    for seed in range(3):
        data = collected(80, 2, seed)
        labels = np.random.default_rng(seed + 50).integers(0, 2, 80)
        sharp = Collected(0.1 * data.logs, data.features, data.texts, data.layers)
        fitted = fit_head(YES, sharp, labels)
        rows = np.arange(80)
        falls.append(-np.log(fitted.after[rows, labels]).mean() - np.log(2))
    assert np.mean(falls) < 0.05


def test_another_reading_of_a_state_tells_nothing_of_its_own_label() -> None:
    rights = []
    for seed in range(3):
        data = collected(80, 2, seed, width=40)
        labels = np.random.default_rng(seed + 50).integers(0, 2, 80)
        texts = [str(number) for number in range(80)]
        weak = Collected(0.1 * data.logs, data.features, texts, data.layers)
        fitted = fit_head(YES, weak, labels, again=Again(weak, np.arange(80)))
        rights.append((fitted.after.argmax(axis=1) == labels).mean())
    assert np.mean(rights) < 0.65


def test_other_readings_teach_what_holds_in_both() -> None:
    data, other = collected(300, 2), collected(300, 2, 9)
    labels = np.arange(300) % 2
    for each, place in ((data, 2), (other, 3)):
        each.features[:, 0, 0, place] = 4.0 * labels - 2
    rows, rest = np.split(np.arange(300), [200])
    for again in (Again(other.part(rows), rows), None):
        head = fit_head(YES, data.part(rows), labels[rows], again=again).head
        assert head is not None
        right = [answered(head, x.part(rest)).argmax(axis=1) == labels[rest] for x in (data, other)]
        assert right[0].mean() > 0.8
        assert (right[1].mean() > 0.8) == (again is not None)


def test_levels_are_learned_in_their_order() -> None:
    data = collected(200, 4)
    labels = np.digitize(data.features[:, 0, 0, 2], [-0.7, 0, 0.7])
    flat = Collected(np.full((200, 4), -np.log(4)), data.features, data.texts, data.layers)
    fitted = fit_head(LEVEL, flat, labels)
    assert fitted.head is not None
    # All that hidden states add to a level is its place times one number.
    steps = np.diff(fitted.head.weights.astype(np.float64), axis=0)
    np.testing.assert_allclose(steps, steps[:1].repeat(3, axis=0), atol=0.05, rtol=0.01)
    missed = np.abs(answered(fitted.head, flat).argmax(axis=1) - labels)
    assert missed.mean() < 0.5


def test_an_abstain_option_stands_outside_the_order() -> None:
    design = design_of(Score(["a", "b", "c"], abstain=True))
    assert design.tolist() == [[-1, 0], [0, 0], [1, 0], [0, 1]]
    assert np.array_equal(design_of(QUEUE), np.eye(3))


def test_what_is_reported_is_calibrated_on_rows_not_fitted_on() -> None:
    data = collected(250, 2)
    odds = 2 * data.features[:, 0, 0, 0]
    labels = (np.random.default_rng(1).uniform(size=250) < 1 / (1 + np.exp(-odds))).astype(int)
    fitted = fit_head(YES, data, labels)
    sure = fitted.after.max(axis=1)
    right = fitted.after.argmax(axis=1) == labels
    assert abs(sure.mean() - right.mean()) < 0.08


def test_folds_deal_every_label_out_evenly() -> None:
    labels = np.array([0] * 50 + [1] * 10 + [2] * 5)
    folds = folds_of(labels)
    for label, count in ((0, 10), (1, 2), (2, 1)):
        assert np.bincount(folds[labels == label], minlength=FOLDS).tolist() == [count] * FOLDS


def test_heads_stay_small_whatever_the_number_of_options() -> None:
    assert buckets_for(2) == 1 << 14
    assert [buckets_for(n) * n <= 1 << 18 for n in (2, 20, 77, 255)] == [True] * 4


def test_options_lend_their_own_texts() -> None:
    options = [f"kind {number}" for number in range(12)]
    random = np.random.default_rng(3)
    meaning = random.standard_normal((12, 2, 3, 40))
    labels = random.integers(0, 12, 400)
    hidden = (meaning[labels] + 1.2 * random.standard_normal((400, 2, 3, 40))).astype(np.float32)
    flat = np.full((400, 12), -np.log(12))
    rows = Collected(flat, hidden, [""] * 400, (3, 6))
    shown = Collected(flat[:12], meaning.astype(np.float32), [""] * 12, (3, 6))
    few, question = np.arange(30), Choice(options, "Which kind?")
    scores = []
    for lent in (None, shown):
        head = fit_head(question, rows.part(few), labels[few], shown=lent).head
        assert head is not None
        told = answered(head, rows.part(np.arange(30, 400))).argmax(axis=1)
        scores.append((told == labels[30:]).mean())
    assert scores[1] > scores[0] + 0.05


def test_progress_ends_at_the_whole() -> None:
    told: list[float] = []
    data = collected(60, 2)
    fit_head(YES, data, (data.features[:, 0, 0, 0] > 0).astype(int), told.append)
    assert told == sorted(told)
    assert told[-1] == 1
