"""`assert_replicas_agree`: a job's rows are the same in processes that differ as replicas may."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from tandem.engine.facts import differing, functions_in
from tandem.engine.second_plan import ELSEWHERE
from tandem.jobapi.errors import JobError
from tandem.replica.divergence import Row, first_differing, likely_cause, shown
from tandem.replica.rows import EpochRows
from tandem.testing.apart import Order, Report, computed_apart
from tandem.testing.epochs import Inputs, cut, cut_otherwise
from tandem.testing.jobs import Job, manifest_of
from tandem.testing.session import archives, memory_folder, session_for
from tandem.topics.declared import TABLE_PREFIX

_SHOWN = 3


def assert_replicas_agree(
    job: Job,
    inputs: Inputs,
    *,
    cuts: Sequence[int] | None = None,
    times_ms: Sequence[int] | None = None,
    seeds: Sequence[int] | None = None,
    answers: Mapping[str, object] | None = None,
    schemas: Mapping[str, str] | None = None,
    sinks: Sequence[str] | None = None,
    options: Mapping[str, str] | None = None,
    hash_seeds: Sequence[int] = (0, 1),
    other_cuts: bool = True,
    timeout_s: float = 120.0,
) -> None:
    """Compute a job's epochs in a process for each of `hash_seeds`, and compare the rows. Takes some seconds.

    The first process is like a replica's. In the others, the order of Python's sets and the values of `hash()` are others
    (`PYTHONHASHSEED`, also in Spark's Python workers), and the plan is made on another host, 400 days later.

    With the same cuts, the rows of each epoch must be equal, byte for byte and in their order. That is what replicas are
    held to. It is asked more strictly than of them: they all run with `PYTHONHASHSEED=0`, so a job that follows the order
    of a set agrees there, and is refused here; it would publish other rows with another version of Python. Two seeds may
    give a small set the same order by chance: more seeds find more. Answers of `ctx.ask` and `ctx.determinant` are asked
    once, and are the same for all.

    With other cuts, all rows of a run together must be equal, in any order, where the plan shows that a row is made of one
    record and nothing else: without state, without questions, and without `epoch`, `seq`, `ctx.epoch_time()` or
    `ctx.rng()`. Of any other job nothing is claimed: which rows it publishes follows from the cuts, the same in all
    replicas. What this finds are functions that take the records of a batch together (`mapInPandas`), or remember what
    they were called with.

    Equal rows are no proof: only what these inputs reach is compared.

    Parameters
    ----------
    hash_seeds : from 0 to 4294967295, at least two.
    other_cuts : False: the rows may depend on where epochs end.
    timeout_s : for all epochs of one process.
    cuts, times_ms, seeds, answers, schemas, sinks, options : as in `run_epochs`.

    Raises
    ------
    AssertionError
        Rows differ: says which is the first, on both sides, and what the cause may be.
    JobError
        The job cannot run at all. So are plans refused that never agree (`rand()`, a constant that is drawn again).
    ManifestError, OSError, CodeNotFoundError, ValueError, TypeError, TimeoutError, RuntimeError
        As in `run_epochs`.
    """
    if len(set(hash_seeds)) < 2:
        raise ValueError(f"hash_seeds {list(hash_seeds)}: give two different ones at least")
    manifest = manifest_of(job, list(inputs), schemas, sinks, options)
    epochs = cut(inputs, manifest.spec.sources, cuts, times_ms, seeds)
    session, others = session_for(manifest), cut_otherwise(epochs) if other_cuts else None
    first: Report | None = None
    for seed in hash_seeds:
        recorded = None if first is None else first.recorded
        order = Order(
            manifest,
            epochs,
            None if first is None else others,
            (answers or {}) if first is None else {},
            recorded,
            first is not None,
            archives(),
            timeout_s,
        )
        variables = {"PYTHONHASHSEED": str(seed), **({} if first is None else ELSEWHERE)}
        folder = memory_folder()
        try:
            report = computed_apart(session, order, variables, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if first is None:
            if report.refused:
                raise JobError(report.refused)
            first = report
        elif message := difference(first, report, seed):
            raise AssertionError(message)


def difference(one: Report, other: Report, seed: int) -> str:
    """What two processes have computed otherwise, and why, in words; "": nothing."""
    there = f"in a process with PYTHONHASHSEED={seed}, another host and a later clock"
    if other.refused:
        return f"the job runs, but not {there}: {other.refused}"
    for mine, theirs in zip(one.epochs, other.epochs, strict=True):
        if mine.digest != theirs.digest:
            said = _first(_rows(mine), _rows(theirs))
            return f"epoch {mine.epoch} has other rows {there}: {said}. {_cause(one, other)}"
    if other.others is not None:
        whole, recut = _sorted(one.epochs), _sorted(other.others)
        if whole != recut:
            return (
                "the rows depend on where epochs end, though the plan keeps no state. Of all rows, sorted, "
                f"{_first(whole, recut)}. Something takes the records of a batch together, or remembers earlier ones: use "
                "a function of one record, or an aggregation or transformWithState, whose state Tandem keeps. If it shall "
                "be so, say other_cuts=False"
            )
    return ""


def _first(mine: Sequence[Row], theirs: Sequence[Row]) -> str:
    one, other = dict(enumerate(mine)), dict(enumerate(theirs))
    index = first_differing(one, other)
    if index is None:
        return "the values look alike, but are of other types"
    return f"row {index} is {shown(one.get(index))}, there {shown(other.get(index))}"


def _cause(one: Report, other: Report) -> str:
    found = list(differing(one.facts, other.facts))
    if found:
        more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        return (
            f"The plan is another one there: {'; '.join(found[:_SHOWN])}{more}. The code takes this from its surroundings: "
            "the order of a set (use sorted()), hash(), the clock, the host, the environment"
        )
    functions = functions_in(one.facts)
    of_hashes = ", or follow the order of a set or hash(), which PYTHONHASHSEED changes" if functions else ""
    return likely_cause(functions, one.moving_tables) + of_hashes


def _rows(rows: EpochRows) -> list[Row]:
    return [_row(columns) for columns in rows.table.to_pylist()]


def _sorted(epochs: Sequence[EpochRows]) -> list[Row]:
    return sorted((row for epoch in epochs for row in _rows(epoch)), key=repr)


def _row(columns: Mapping[str, Any]) -> Row:
    """Sink, key and value, with whatever else a row has behind its value."""
    sink, key, value = columns["sink"], columns["key"], columns["value"]
    table = columns.get(TABLE_PREFIX + sink)
    more = {name: columns[name] for name in ("partition", "headers") if columns.get(name) is not None}
    if table is not None:
        return sink, None, repr(table).encode()
    return sink, key, value if not more else (value or b"") + f" {more}".encode()
