"""A job's rows, computed in a process of its own, which has a session in the JVM of this one."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession

from tandem.engine.described import Facts
from tandem.engine.shared_jvm import shared
from tandem.manifest import Manifest
from tandem.process.child import ChildProcess, Command
from tandem.replica.rows import EpochRows
from tandem.testing.answers import Recorded
from tandem.testing.epochs import Epoch

START_S = 120.0
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
    argv = (sys.executable, "-m", "tandem.testing.other_process", str(task), str(result))
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
    pickling: Any = cloudpickle
    names = {getattr(answer, "__module__", None) for answer in order.answers.values() if callable(answer)}
    modules = [sys.modules[name] for name in names - pickling.list_registry_pickle_by_value() if name in sys.modules]
    for module in modules:
        pickling.register_pickle_by_value(module)
    try:
        return bytes(pickling.dumps(order))
    finally:
        for module in modules:
            pickling.unregister_pickle_by_value(module)
