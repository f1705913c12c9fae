"""Finding an incarnation's place in both logs: what was decided and published when it begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tandem.engine.interface import EnginePosition
from tandem.kafka.client import KafkaConnection
from tandem.kafka.history import cut_at, markers_back_to, watermarks
from tandem.protocol.decisions import Decisions
from tandem.protocol.values import Config

_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Place:
    """`decisions` up to the engine's position, and where to read on: topic → offset."""

    decisions: Decisions
    head: int
    starts: Mapping[str, int]


def find_place(
    connection: KafkaConnection, config: Config, ordering_topic: str, commits_topic: str, position: EnginePosition
) -> Place:
    """The place of a replica whose engine stands at `position`: every marker after it will be read, and compared."""
    markers = markers_back_to(connection, commits_topic, position.epoch)
    before = [offset for offset, marker in markers if marker.epoch <= position.epoch]
    beginning, _ = watermarks(connection, commits_topic, _TIMEOUT_S)
    commits_start = before[-1] + 1 if before else beginning
    if position.epoch < 0:
        log_beginning, _ = watermarks(connection, ordering_topic, _TIMEOUT_S)
        return Place(Decisions(), 0, {ordering_topic: log_beginning, commits_topic: commits_start})
    cut = cut_at(connection, ordering_topic, position.log_offset)
    decisions = Decisions.resumed(config, cut, position.log_offset)
    return Place(decisions, position.epoch + 1, {ordering_topic: position.log_offset + 1, commits_topic: commits_start})
