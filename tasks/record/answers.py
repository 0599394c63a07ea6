"""Write the answers of a workload as a table for people and programs."""

from pathlib import Path

import pandas as pd

from hallmark.mechanisms.contract import QueryAnswers


def write_answers(answers: QueryAnswers, path: Path) -> None:
    """Write a CSV file with one row per query, in the order of the spec.

    Columns: the query; the released answer, a mean over all records; its largest distance from the
    private answer, for all rows together with the certificate's confidence; and the answer of the
    released records.
    """
    table = pd.DataFrame(
        {
            "query": answers.labels,
            "answer": answers.distribution,
            "largest_error": answers.bounds,
            "answer_of_records": answers.records,
        }
    )
    table.to_csv(path, index_label="number")
