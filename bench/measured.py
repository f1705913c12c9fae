"""What each job of `bench.jobs` is fed, and what has to come out of it. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench.analysis import Faults, faults_of_count, faults_of_identity, faults_of_rows
from bench.nexmark import short
from bench.records import KEYS, WINDOW_EVENTS, Arrivals, first_keys, item, views


@dataclass(frozen=True, slots=True)
class Workload:
    """`faults` of the arrivals, a feed's seed and how many records it sent; `body` of a record's number; see the fields."""

    faults: Callable[[Arrivals, int, int], Faults]
    body: Callable[[int], str] = lambda _number: ""
    copies: bool = True
    """Whether every record comes out, once."""
    causal: bool = False
    """Whether it uses causal services, which plain Spark does not have. Only measured if named by `--jobs`."""


def _copies(arrivals: Arrivals, _seed: int, sent: int) -> Faults:
    return faults_of_identity(arrivals, sent)


def _counts(arrivals: Arrivals, seed: int, sent: int) -> Faults:
    return faults_of_count(arrivals, first_keys(seed, sent))


def _counts_of_windows(arrivals: Arrivals, seed: int, sent: int) -> Faults:
    windows = np.arange(sent) // WINDOW_EVENTS
    return faults_of_count(arrivals, windows * KEYS + first_keys(seed, sent))


WORKLOADS = {
    "identity": Workload(_copies),
    "filter": Workload(lambda arrivals, _seed, sent: faults_of_rows(arrivals, views(sent)), item, copies=False),
    "count": Workload(_counts, copies=False),
    "timed": Workload(_copies, causal=True),
    "asked": Workload(_copies, causal=True),
    "fixwindow": Workload(_counts_of_windows, copies=False),
    "q3": Workload(
        lambda arrivals, _seed, sent: faults_of_rows(arrivals, short.rows_of_q3(sent)), short.body, copies=False
    ),
    "q8": Workload(
        lambda arrivals, _seed, sent: faults_of_rows(arrivals, short.rows_of_q8(sent)), short.body, copies=False
    ),
}
