"""`python -m tandem.testing.apart ORDER`: a job's rows, computed in this process, in the JVM of the one that started it."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession

from tandem.engine.described import Facts
from tandem.engine.elsewhere import elsewhere
from tandem.engine.shared_jvm import join, shared
from tandem.jobapi.errors import JobError
from tandem.manifest import CodeNotFoundError, Manifest
from tandem.process.child import ChildProcess, Command
from tandem.replica.rows import EpochRows
from tandem.testing.answers import Answered, Recorded, answering
from tandem.testing.cuts_matter import why_cuts_matter
from tandem.testing.epochs import Epoch
from tandem.testing.run import is_ordered
from tandem.testing.running import compute, prepared

START_S = 60.0
"""For the process to begin, and to plan the job."""


@dataclass(frozen=True, slots=True)
class Order:
    """What another process shall compute, and how it shall differ.

    `others` : the same records in other epochs, which are computed, too, unless the cuts matter; None: they are not.
    `recorded` : answers that count; None: `answers` are asked.
    `elsewhere` : the plan is made with another clock, on another host.
    """

    manifest: Manifest
    epochs: list[Epoch]
    others: list[Epoch] | None
    answers: Mapping[str, object]
    recorded: Recorded | None
    elsewhere: bool
    archives: Path
    timeout_s: float


@dataclass(slots=True)
class Report:
    """What it has computed: the rows of `epochs`, and of `others`, if they were; or why the job cannot run."""

    epochs: tuple[EpochRows, ...] = ()
    others: tuple[EpochRows, ...] | None = None
    recorded: Recorded = field(default_factory=dict)
    facts: Facts = field(default_factory=dict)
    moving_tables: frozenset[str] = frozenset()
    refused: str = ""


def computed_apart(session: SparkSession, order: Order, variables: Mapping[str, str], folder: Path) -> Report:
    """What a process of its own computes. `variables`: of its environment; `folder`: an empty one, for its files.

    Raises `RuntimeError` if it ends otherwise; `ValueError` or `TypeError` for answers that make no sense.
    """
    task, result, log = folder / "order", folder / "report", folder / "log"
    task.write_bytes(_sent(order))
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    argv = (sys.executable, "-m", "tandem.testing.apart", str(task), str(result))
    with shared(session) as gateway:
        child = ChildProcess("apart", Command(argv, log, {**path, **variables, **gateway}))
        if not child.wait(START_S + 2 * order.timeout_s):
            child.kill()
    if child.exit_code != os.EX_OK:
        raise RuntimeError(f"the job could not be computed in another process ({child.story()})")
    found: Report | Exception = pickle.loads(result.read_bytes())  # noqa: S301, it is our own
    if isinstance(found, Exception):
        raise found
    return found


def _sent(order: Order) -> bytes:
    """Functions that answer go by value: the other process has none of the test's modules."""
    modules = {getattr(answer, "__module__", None) for answer in order.answers.values() if callable(answer)}
    registered = [
        sys.modules[name] for name in modules - cloudpickle.list_registry_pickle_by_value() if name in sys.modules
    ]
    for module in registered:
        cloudpickle.register_pickle_by_value(module)
    try:
        return bytes(cloudpickle.dumps(order))
    finally:
        for module in registered:
            cloudpickle.unregister_pickle_by_value(module)


def _report(order: Order) -> Report:
    session, manifest = join(), order.manifest
    around: Callable[[], Any] = elsewhere if order.elsewhere else nullcontext
    with prepared(session, manifest, order.archives, around) as (job, folder):
        questions, ordered = tuple(job.causal.questions.values()), is_ordered(manifest)
        given = order.answers if order.recorded is None else dict.fromkeys(one.name for one in questions)
        causal, answered = answering(questions, given), Answered(order.recorded)
        found = compute(job, folder, order.epochs, causal, answered, ordered, order.timeout_s)
        report = Report(found.epochs, None, answered.recorded, job.facts, job.moving_tables)
        if order.others is not None and not questions and not why_cuts_matter(job.query.frame):
            others = compute(job, folder, order.others, causal, Answered({}), ordered, order.timeout_s)
            report.others = others.epochs
        return report


def main(task: Path, result: Path) -> None:
    """Carry out the order in a file; the report, or what the caller is to raise, goes into another one."""
    found: Report | Exception
    try:
        found = _report(pickle.loads(task.read_bytes()))  # noqa: S301, it is our own
    except (JobError, CodeNotFoundError) as error:
        found = Report(refused=str(error))
    except (ValueError, TypeError, TimeoutError) as error:
        found = error
    result.write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
    os._exit(os.EX_OK)
