"""One run of a method for linear queries, in a process of its own, and the journal of all runs.

A run is a whole release with simulated noise: `plan`, `measure` (what was asked must fit the
budget), `generate`, `certify`. Errors are those of the released answers and of the records, beside
the exact answers. Seconds of its stages, processor time and peak memory are the process's own,
which is forked from one that has imported everything: `base_mib` is what it held to begin with.
"""

import json
import os
import resource
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import simulated
from benchmarks.query_errors_data import table, workload
from benchmarks.simulated import DELTA, REPLACE_ONE
from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.linear_queries.frank_wolfe.dpfw import FrankWolfe
from hallmark.mechanisms.linear_queries.frank_wolfe.path import CellPath
from hallmark.mechanisms.linear_queries.mechanism import answers_of
from hallmark.mechanisms.linear_queries.method import CHOICES_CALL
from hallmark.mechanisms.linear_queries.questions import signed
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.mechanisms.replicates.simulated import SimulatedCurator

CONFIDENCE = 0.95
_INTERVAL = 1.0  # seconds between looks at the processor time
DONE, LATE, FAILED = "done", "did not finish", "failed"

Line = dict[str, Any]
Key = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is run.

    Attributes:
        data, columns, records: see `query_errors_data.table`.
        queries: see `query_errors_data.workload`.
        method: a mechanism's name, with `parameters` that differ from its defaults.
        seconds: of processor time that it may take.
        gap: whether the Frank-Wolfe gap along the path is measured too.
    """

    data: str
    columns: int
    records: int
    epsilon: Fraction
    queries: str
    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    seconds: float = 300.0
    gap: bool = False

    @property
    def terms(self) -> Line:
        """What makes two runs the same, as plain JSON values."""
        return {
            "data": self.data,
            "d": self.columns,
            "n": self.records,
            "epsilon": float(self.epsilon),
            "delta": float(DELTA),
            "queries": self.queries,
            "method": self.method,
            "parameters": dict(self.parameters),
            "seed": self.seed,
        }


def key(line: Line) -> Key:
    """Of a case's terms, or of a line of the journal."""
    names = ("data", "d", "n", "epsilon", "delta", "queries", "method", "parameters", "seed")
    return tuple(json.dumps(line[name], sort_keys=True) for name in names)


def journal(path: Path) -> dict[Key, Line]:
    """All lines; of runs that were repeated, the last."""
    if not path.exists():
        return {}
    lines = [json.loads(text) for text in path.read_text().splitlines() if text.strip()]
    return {key(line): line for line in lines}


def measured(case: Case, stage: Callable[[str, float], None]) -> Line:
    """Errors, bounds and costs of one release; tells how long each stage took."""
    began, cpu = time.perf_counter(), _cpu()
    base = _peak()
    records = table(case.data, case.columns, case.records, case.seed)
    asked = workload(case.queries, records.domain, case.seed)
    exact = answers_of(asked, records.codes)
    stage("data", time.perf_counter() - began)
    mechanism = MECHANISMS[case.method]
    rng = np.random.default_rng([case.seed, case.records])
    curator: Any = SimulatedCurator(codes=records.codes, adjacency=REPLACE_ONE, rng=rng)

    @contextmanager
    def timed(name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        stage(name, time.perf_counter() - started)

    parameters = {"queries": asked, **case.parameters}
    request = simulated.asked(records.domain, records.codes, case.epsilon, parameters=parameters)
    with timed("plan"):
        plan: Any = mechanism.plan(request)
    with timed("measure"):
        answers = mechanism.measure(curator, plan, None)
    curator.check(plan.budget)
    with timed("generate"):
        synthetic = mechanism.generate(plan, answers, rows=None, rng=rng)
    with timed("certify"):
        certificate: Any = mechanism.certify(
            plan, answers, synthetic, confidence=CONFIDENCE, rng=rng
        )
    spent = {"cpu_s": _cpu() - cpu, "peak_mib": _peak(), "base_mib": base}
    released = np.abs(certificate.answers.distribution - exact)
    drawn = np.abs(certificate.answers.records - exact)
    even = np.abs(plan.method.universe.answers(plan.method.universe.uniform) - exact)
    return {
        "cells": plan.method.universe.size,
        "count": asked.size,
        "largest_error": float(released.max()),
        "mean_error": float(released.mean()),
        "records_largest_error": float(drawn.max()),
        "records_mean_error": float(drawn.mean()),
        "uniform_largest_error": float(even.max()),
        "uniform_mean_error": float(even.mean()),
        "certified": float(certificate.answers.bounds.max()),
        "covered": bool((released <= certificate.answers.bounds).all()),
        "forecast": plan.forecast().expected_error * plan.width,
        "facts": _facts(plan.method, answers.tables, exact if case.gap else None),
        **spent,
    }


def path_gap(method: FrankWolfe, chosen: list[int], exact: Floats) -> float:
    """Mean Frank-Wolfe gap of q_1 to q_T: that of a uniform iterate, given the choices.

    With misfits m = exact - answers of softmax(q_t / alpha), and q_t = sum_q w_q q, the gap is
    max |m| - w' m.
    """
    path = CellPath(method.universe, method.smoothing, method.step)
    weights, gaps = np.zeros(method.universe.queries.size), []
    for position in chosen:
        query, sign = signed(position, len(weights))
        path.move(query, sign)
        weights *= 1 - method.step
        weights[query] += sign * method.step
        misfit = exact - path.answers()
        gaps.append(np.abs(misfit).max() - weights @ misfit)
    return float(np.mean(gaps))


def run(case: Case, commit: str) -> Line:
    """The case in a fresh process, which is killed when its time is over."""
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(case, theirs))
    line: Line = {**case.terms, "status": LATE, "seconds": {}, "limit_s": case.seconds}
    process.start()
    theirs.close()
    began, pid = time.perf_counter(), process.pid
    while line["status"] == LATE and (cpu := _cpu_of(pid)) < case.seconds:
        if not ours.poll(_INTERVAL):
            continue
        try:
            told = ours.recv()
        except EOFError:
            line |= {"status": FAILED, "detail": "the process died"}
            break
        if isinstance(told, tuple):
            line["seconds"][told[0]] = round(told[1], 3)
        else:
            line |= {"status": DONE, **told}
    line["wall_s"] = time.perf_counter() - began
    if line["status"] == LATE:
        line |= {"cpu_s": cpu, "peak_mib": _peak_of(pid)}
        process.kill()
    process.join()
    line |= {"date": datetime.now(UTC).strftime("%Y-%m-%d"), "commit": commit}
    return {name: _short(value) for name, value in line.items()}


def _work(case: Case, out: Connection) -> None:
    try:
        out.send(measured(case, lambda name, seconds: out.send((name, seconds))))
    except Exception as error:
        out.send({"status": FAILED, "detail": f"{type(error).__name__}: {error}"[:500]})


def _facts(method: Any, tables: Any, exact: Floats | None) -> Line:
    """Constants that the fits need."""
    names = ("alpha", "rounds", "iterations", "iterations_by_rule", "gaussian_width", "samples")
    told = method.parameters
    facts = {name: told[name] for name in names if name in told}
    facts |= {name: told[name] for name in ("strategy", "estimator", "tables") if name in told}
    if exact is not None:
        facts["gap"] = path_gap(method, tables[CHOICES_CALL][0].tolist(), exact)
    return facts


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _cpu_of(pid: int | None) -> float:
    """Processor seconds of another process; 0 where it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak_of(pid: int | None) -> float | None:
    """High-water mark of another process, MiB."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if "VmHWM" in line), None)


def _short(value: Any) -> Any:
    """Numbers to five digits."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {name: _short(one) for name, one in value.items()}
    return value
