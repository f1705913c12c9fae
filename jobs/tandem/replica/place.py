"""Finding an incarnation's place in both logs: what was decided and published when it begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tandem.checkpoint.position import EnginePosition
from tandem.kafka.client import KafkaConnection
from tandem.kafka.history import decisions_after, markers_back_to, watermarks
from tandem.protocol.decisions import Decisions
from tandem.protocol.publication import MissingMarkerError

_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Place:
    """`decisions` up to the engine's position, and where to read on: topic → offset.

    `publisher` : the incarnation that published the epoch of that position; "": there is none.
    """

    decisions: Decisions
    head: int
    starts: Mapping[str, int]
    publisher: str = ""


def find_place(connection: KafkaConnection, ordering_topic: str, commits_topic: str, position: EnginePosition) -> Place:
    """The place of a replica whose engine stands at `position`: every marker after it will be read, and compared.

    Raises `MissingMarkerError` if the commits topic does not reach back to `position`.
    """
    beginning, _ = watermarks(connection, commits_topic, _TIMEOUT_S)
    if position.epoch < 0:
        log_beginning, _ = watermarks(connection, ordering_topic, _TIMEOUT_S)
        return Place(Decisions(), 0, {ordering_topic: log_beginning, commits_topic: beginning})
    markers = markers_back_to(connection, commits_topic, position.epoch)
    found = [(offset, marker) for offset, marker in markers if marker.epoch == position.epoch]
    if not found:
        raise MissingMarkerError(f"{commits_topic} has no marker of epoch {position.epoch}, at which the state stands")
    offset, marker = found[0]  # one that came late, after a pause, may stand behind markers that are still to be read
    decisions = decisions_after(connection, ordering_topic, marker)
    starts = {ordering_topic: position.log_offset + 1, commits_topic: offset + 1}
    return Place(decisions, position.epoch + 1, starts, marker.owner)
