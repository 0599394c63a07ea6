"""Certify a distribution's answers by its worst query: one more choice, and one more number.

Claim.   With the stated confidence no query's answer is further from the private one than `bound`.
Proof.   Let u_r be the signed misfits of all queries and their negations, in records, and M the
         largest; the curator draws r with probability proportional to exp(epsilon u_r / (2 D)), D
         the sensitivity. P(u_r <= M - (2 D / epsilon) (ln(2m) + t)) <= exp(-t), by the union over
         2m candidates. The answer of the chosen query is then measured, and its noise is below its
         own quantile but for another part of the failure probability. Where the number of records
         is private, misfits are against a noisy number, and a third part bounds what that changes.
Source.  McSherry, Talwar (2007), Mechanism design via differential privacy, Theorem 6, for the
         choice; it holds for any distribution, however it was found.
Oracle.  tests/mechanisms/linear_queries/test_worst_query.py simulates misses where it is tight.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.contract import NoiseLine
from hallmark.mechanisms.linear_queries.method import as_positions, as_table
from hallmark.mechanisms.linear_queries.questions import FixedQuestion, reference, signed
from hallmark.mechanisms.linear_queries.spending import Amount, choice_line
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.calls import QueryRounds, TablesByCall
from hallmark.mechanisms.privacy.events import Event, ExponentialMechanism
from hallmark.mechanisms.privacy.queries import SCORE_STEPS, HistogramQuery, Noise
from hallmark.mechanisms.privacy.tails import reach
from hallmark.mechanisms.privacy.transforms import WeightedSum

_CHOICE, _ANSWER = "worst-query", "worst-answer"  # calls
CHOICE_SHARE = Fraction(3, 4)  # of the amount: a choice among many errs by more than a number


@dataclass(frozen=True, eq=False)
class WorstQuery:
    """How the worst query is found and measured. Public.

    Attributes:
        universe: with the queries that the method answers.
        amount: what it may cost.
        total_noise: of the number of records that the method goes on with; None where that is
            public.
    """

    universe: Universe
    adjacency: Adjacency
    amount: Amount
    total_noise: Noise | None

    @property
    def choice(self) -> ExponentialMechanism:
        """The event of choosing the worst-fitting query."""
        return ExponentialMechanism(epsilon=self.amount.part(CHOICE_SHARE).choice(1))

    @property
    def noise(self) -> Noise:
        """The noise on the chosen query's answer, in units of 1/unit records; fits every query."""
        return self.amount.part(1 - CHOICE_SHARE).noise(self._sum(0), self.adjacency)

    @property
    def events(self) -> tuple[Event, ...]:
        """What both are charged as, whichever query is chosen."""
        return (self.choice, self._query(0).event(self.adjacency))

    @property
    def lines(self) -> tuple[NoiseLine, ...]:
        """Its lines in the noise table."""
        unit = f"1/{self.universe.queries.unit} records"
        return (
            choice_line(
                self.choice,
                "choice of the query that fits worst, for the certificate",
                self.universe.queries,
                self.adjacency,
            ),
            NoiseLine.of(
                self._query(0),
                "the answer of that query, for the certificate",
                1,
                adjacency=self.adjacency,
                unit=unit,
            ),
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Its constants as plain JSON values."""
        return {
            "worst_query": {
                "choice_epsilon": str(self.choice.epsilon),
                "noise": repr(self.noise),
            }
        }

    def ask(self, curator: QueryRounds, answers: Floats, records: int) -> TablesByCall:
        """The worst query's position among queries and negations, and its noisy answer.

        Args:
            answers: of the distribution, shape (queries,).
            records: as the method knows their number.
        """
        queries = self.universe.queries
        against = FixedQuestion(reference(self.universe, records, answers))
        (position,) = curator.choices(_CHOICE, queries, against, [self.choice])
        query = self._query(signed(position, queries.size)[0])
        (answer,) = curator.histograms(_ANSWER, [query])
        return {_CHOICE: as_table([position]), _ANSWER: (answer,)}

    def bound(
        self, told: TablesByCall, answers: Floats, records: int, *, confidence: float
    ) -> Mapping[str, float]:
        """Terms that sum to a bound on the largest error of any query, in the queries' own scale.

        Args:
            told: with the answers of `ask`.
            answers, records: as they were given to `ask`.
        """
        queries = self.universe.queries
        failure = (1 - confidence) / (3 if self.total_noise else 2)
        (position,) = as_positions(told[_CHOICE])
        chosen, sign = signed(position, queries.size)
        seen = sign * (int(told[_ANSWER][0][0]) / queries.unit - records * float(answers[chosen]))
        noise = reach(self.noise, failure) / queries.unit
        sensitivity = queries.sensitivity(self.adjacency) / queries.unit
        scale = 2 * sensitivity / float(self.choice.epsilon)
        # References are rounded, by half a step each.
        choice = scale * (log(2 * queries.size) + log(1 / failure)) + 1 / SCORE_STEPS
        off = reach(self.total_noise, failure / 2) if self.total_noise else 0
        fewest = max(records - off, 1)
        return {
            "error of the worst query": max(seen, 0.0) / fewest,
            "noise": noise / fewest,
            "choice among queries": choice / fewest,
            "number of records": off * float(np.abs(answers).max()) / fewest,
        }

    def _sum(self, query: int) -> WeightedSum:
        block, row = self.universe.queries.located(query)
        queries = self.universe.queries
        return WeightedSum(
            queries.blocks[block].rows.row(row),
            span=(int(queries.least.min()), int(queries.greatest.max())),
        )

    def _query(self, query: int) -> HistogramQuery:
        block, _ = self.universe.queries.located(query)
        return HistogramQuery(self.universe.queries.maps[block], self.noise, self._sum(query))
