"""A small job's history, to be read whole or with something broken in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tandem.kafka.headers import RowId
from tandem.protocol.publication_rules import Delivery
from tandem.protocol.values import Config, Cut, Marker, Offsets, Proposal, TopicPartition
from tandem.verify.check import Checker, Kept
from tandem.verify.inputs import InputBounds
from tandem.verify.report import Anomaly, Report

INPUT = TopicPartition("in", 0)
OUT = (TopicPartition("out", 0), TopicPartition("out", 1))
ROWS = 4
"""Rows of each epoch; even indices go to out/0, odd ones to out/1."""
TAKEN = 10
"""Input records of each epoch."""

Row = tuple[TopicPartition, RowId]


@dataclass(frozen=True)
class History:
    """What stands in the topics. The log is a config and then, of each epoch, its cut."""

    log: tuple[Proposal, ...]
    markers: tuple[Marker, ...]
    outputs: tuple[tuple[RowId, ...], tuple[RowId, ...]]
    input_end: int
    delivery: Delivery = Delivery.EXACTLY_ONCE

    @property
    def bounds(self) -> InputBounds:
        return InputBounds(Offsets({INPUT: 0}), Offsets({INPUT: self.input_end}), frozenset({"in"}))

    def with_output(self, partition: int, rows: Iterable[RowId]) -> History:
        outputs = list(self.outputs)
        outputs[partition] = tuple(rows)
        return replace(self, outputs=(outputs[0], outputs[1]))

    def steps(self) -> list[list[tuple[str, object, int]]]:
        """The records of each partition as (kind, record, offset)."""
        return [
            [("log", proposal, offset) for offset, proposal in enumerate(self.log)],
            [("marker", marker, offset) for offset, marker in enumerate(self.markers)],
            *([(f"row{p}", row, offset) for offset, row in enumerate(rows)] for p, rows in enumerate(self.outputs)),
        ]

    def verified(self, kept: Kept = Kept()) -> Report:  # noqa: B008
        """The report when each topic is read after the other."""
        return feed(Checker(self.delivery, kept), (step for steps in self.steps() for step in steps)).report(
            self.bounds
        )


def feed(checker: Checker, steps: Iterable[tuple[str, object, int]]) -> Checker:
    """Give the checker records."""
    for kind, record, offset in steps:
        if kind == "log":
            checker.on_proposal(record, offset)  # type: ignore[arg-type]
        elif kind == "marker":
            checker.on_marker(record, offset)  # type: ignore[arg-type]
        else:
            checker.on_row(OUT[int(kind[-1])], record, offset)  # type: ignore[arg-type]
    return checker


def cut(epoch: int, end: int, seed: int = 0) -> Cut:
    return Cut(epoch, Offsets({INPUT: end}), 1_000 + epoch, seed, "orderer-0")


def marker(
    epoch: int, rows: int = ROWS, log_offset: int | None = None, digest: str = "d", skipped: bool = False
) -> Marker:
    log = epoch + 1 if log_offset is None else log_offset
    return Marker(epoch, 0, "replica-0", f"{digest}{epoch}", rows, log, skipped)


def good(epochs: int = 5, delivery: Delivery = Delivery.EXACTLY_ONCE) -> History:
    """Every epoch is cut once, published once and whole, and the inputs are read to their end."""
    log = (Config(0, "c0ffee", Offsets({INPUT: 0}), "replica-0"), *(cut(e, TAKEN * (e + 1)) for e in range(epochs)))
    outputs = tuple(tuple(RowId(e, i) for e in range(epochs) for i in range(p, ROWS, 2)) for p in (0, 1))
    return History(log, tuple(marker(e) for e in range(epochs)), (outputs[0], outputs[1]), TAKEN * epochs, delivery)


def counts(report: Report) -> tuple[int, int, int]:
    return report.lost, report.duplicated, report.reordered


def texts(report: Report, anomaly: Anomaly) -> list[str]:
    return [finding.text for finding in report.findings if finding.anomaly is anomaly]
