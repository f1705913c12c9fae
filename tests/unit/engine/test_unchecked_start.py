"""Two queries that start at the same time do not take each other's settings away."""

from __future__ import annotations

from threading import Event, Lock, Thread

import pytest

from tandem.engine.realtime import feed
from tandem.engine.realtime.feed import unchecked


class Settings(dict[str, str]):
    def set(self, key: str, value: str) -> None:
        self[key] = value


class Watched:
    """A lock that says when somebody has come to it while another one holds it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.is_awaited = Event()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self.is_awaited.set()
            assert self._lock.acquire(timeout=10)

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_a_query_that_has_started_does_not_end_the_start_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    lock = Watched()
    monkeypatch.setattr(feed, "_ONE_STARTS", lock)
    settings, inside, may_end, seen = Settings(), Event(), Event(), list[set[str]]()

    def first() -> None:
        with unchecked(settings):
            inside.set()
            assert may_end.wait(10)

    def second() -> None:
        with unchecked(settings):
            seen.append(set(settings.values()))

    one, other = Thread(target=first), Thread(target=second)
    one.start()
    assert inside.wait(10)
    other.start()
    assert lock.is_awaited.wait(10), "the second does not wait for the first"
    assert seen == []
    may_end.set()
    one.join(10)
    other.join(10)
    assert seen == [{"false"}]
    assert set(settings.values()) == {"true"}
