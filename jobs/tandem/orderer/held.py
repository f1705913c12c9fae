"""Partitions in which an open transaction holds back the records behind it: readers of committed records do not get them."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.logs import get_logger
from tandem.protocol.values import Positions, TopicPartition
from tandem.status.report import HeldInput

_log = get_logger(__name__)

LASTING_MS = 10_000.0
"""Transactions that come and go hold back nothing for long: the last stable offset moves."""
_EVERY_MS = 60_000.0


@dataclass(slots=True)
class _Since:
    offset: int
    since_ms: float
    logged_ms: float | None = None


class HeldInputs:
    """Follows the last stable offsets; logs what stands still for long, at first and then once a minute."""

    def __init__(self) -> None:
        self._since: dict[TopicPartition, _Since] = {}
        self.lasting: tuple[HeldInput, ...] = ()

    def look(self, stable: Positions, ends: Positions, now_ms: float) -> None:
        """`stable`: where what can be read ends; `ends`: where the log ends. `stable` must have been asked after `ends`."""
        lasting = []
        for tp, offset in stable.items():
            records = ends.get(tp, offset) - offset
            known = self._since.get(tp)
            if known is not None and (records <= 0 or known.offset != offset):
                self._goes_on(tp, known)
                known = None
            if records > 0 and known is None:
                self._since[tp] = _Since(offset, now_ms)
            elif records > 0 and known is not None and now_ms - known.since_ms >= LASTING_MS:
                held = HeldInput(tp.topic, tp.partition, offset, records, round((now_ms - known.since_ms) / 1_000, 1))
                lasting.append(held)
                _warn(held, known, now_ms)
        self.lasting = tuple(lasting)

    def _goes_on(self, tp: TopicPartition, known: _Since) -> None:
        del self._since[tp]
        if known.logged_ms is not None:
            _log.info("input_goes_on", topic=tp.topic, partition=tp.partition, offset=known.offset)


def _warn(held: HeldInput, known: _Since, now_ms: float) -> None:
    if known.logged_ms is not None and now_ms - known.logged_ms < _EVERY_MS:
        return
    known.logged_ms = now_ms
    _log.warning(
        "input_held_back",
        topic=held.topic,
        partition=held.partition,
        offset=held.offset,
        records=held.records,
        for_s=round(held.seconds),
        reason=held.words,
    )
