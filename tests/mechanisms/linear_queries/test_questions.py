"""Questions along a path are those of a path that starts anew for each of them."""

import hashlib
from dataclasses import replace

import numpy as np

from hallmark.mechanisms.domain.rules import Rules, RuleTable
from hallmark.mechanisms.linear_queries.frank_wolfe.path import CellPath
from hallmark.mechanisms.linear_queries.questions import PathQuestion, question_digest, signed
from hallmark.mechanisms.privacy.queries import SCORE_STEPS
from tests.mechanisms.linear_queries.adaptive_runs import ways

UNIVERSE = ways((2, 3, 2), 1, 2)
SIZE = UNIVERSE.queries.size


def question(records: int = 100, step: float = 0.2) -> PathQuestion[CellPath]:
    return PathQuestion(UNIVERSE, records, lambda: CellPath(UNIVERSE, 0.1, step), f"{step}")


def test_the_order_of_questions_changes_nothing() -> None:
    chosen = (0, 5, SIZE + 3, 5, SIZE)
    kept = question()
    for upto in (0, 1, 3, 5, 2, 4, 5):
        np.testing.assert_array_equal(kept(chosen[:upto]), question()(chosen[:upto]))
    other = (1, *chosen[1:])
    np.testing.assert_array_equal(kept(other), question()(other))


def test_a_question_is_in_records() -> None:
    shares = UNIVERSE.answers(UNIVERSE.uniform)
    np.testing.assert_array_equal(question(7)(()), np.rint(7 * SCORE_STEPS * shares))


def test_digests_tell_records_path_and_queries_apart() -> None:
    other = PathQuestion(ways((2, 3, 2), 1), 100, lambda: CellPath(UNIVERSE, 0.1, 0.2), "0.2")
    digests = {q.digest for q in (question(), question(99), question(step=0.3), other)}
    assert len(digests) == 4
    assert question().digest == question().digest


def test_digests_tell_rules_apart_and_are_what_they_were_without_any() -> None:
    digests = {question_digest(UNIVERSE, 100, "path")}
    for forbidden in (0, 1, 2):
        allowed = np.ones((2, 3), dtype=np.bool_)
        allowed[0, forbidden] = False
        rules = Rules((2, 3, 2), (RuleTable("rule", (0, 1), allowed),))
        digests.add(question_digest(replace(UNIVERSE, rules=rules), 100, "path"))
    assert len(digests) == 4
    told = hashlib.sha256(f"{UNIVERSE.shape} 100 path".encode())
    told.update(UNIVERSE.queries.digest.encode())
    for k in UNIVERSE.shape:
        told.update(np.arange(k, dtype="<i8").tobytes())
    assert told.hexdigest() in digests  # logs from before there were rules are read back


def test_positions_are_queries_and_then_their_negations() -> None:
    assert [signed(p, 3) for p in (0, 2, 3, 5)] == [(0, 1), (2, 1), (0, -1), (2, -1)]
