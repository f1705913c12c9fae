"""Consumers that give what a test has put into them, and their time."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass
from typing import Any

from tandem.protocol.values import Offsets, TopicPartition

A, B = TopicPartition("in", 0), TopicPartition("in", 1)


def at(a: int, b: int) -> Offsets:
    """Positions in both partitions."""
    return Offsets({A: a, B: b})


@dataclass
class Error:
    """Of a partition, as a consumer gives it."""

    number: int

    def code(self) -> int:
        return self.number

    def fatal(self) -> bool:
        return False


@dataclass
class Message:
    place: TopicPartition
    at: int = 0
    failed: Error | None = None

    def __len__(self) -> int:
        return 0

    def topic(self) -> str:
        return self.place.topic

    def partition(self) -> int:
        return self.place.partition

    def offset(self) -> int:
        return self.at

    def error(self) -> Error | None:
        return self.failed

    def key(self) -> None: ...

    def value(self) -> None: ...

    def headers(self) -> None: ...


class FakeConsumer:
    """Gives what the test puts into `coming`; one is made each time that the reader connects."""

    made: list[FakeConsumer]

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.coming: deque[Message] = deque()
        self.paused: set[tuple[str, int]] = set()
        self.made.append(self)

    def consume(self, most: int, _timeout_s: float) -> list[Message]:
        return [self.coming.popleft() for _ in range(min(most, len(self.coming)))]

    def poll(self, _timeout_s: float) -> Message | None:
        return self.coming.popleft() if self.coming else None

    def pause(self, these: list[Any]) -> None:
        self.paused |= {(one.topic, one.partition) for one in these}

    def resume(self, these: list[Any]) -> None:
        self.paused -= {(one.topic, one.partition) for one in these}

    def incremental_assign(self, _these: list[Any]) -> None: ...

    def unassign(self) -> None: ...

    def close(self) -> None: ...

    def skipped_to(self, **offsets: int) -> None:
        """It gives its statistics: where it fetches next, of each partition."""
        partitions = {name.removeprefix("p"): {"next_offset": offset} for name, offset in offsets.items()}
        self.settings["stats_cb"](json.dumps({"topics": {"in": {"partitions": partitions}}}))


class Now:
    def __init__(self) -> None:
        self.s = 1_000.0

    def monotonic(self) -> float:
        self.s += 0.004  # so that a wait ends
        return self.s
