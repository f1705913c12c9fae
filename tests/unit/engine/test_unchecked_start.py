"""Two queries that start at the same time do not take each other's settings away."""

from __future__ import annotations

from threading import Event, Thread

from tandem.engine.realtime.feed import unchecked


class Settings(dict[str, str]):
    def set(self, key: str, value: str) -> None:
        self[key] = value


def test_a_query_that_has_started_does_not_end_the_start_of_another() -> None:
    settings, inside, may_end, seen = Settings(), Event(), Event(), list[set[str]]()

    def first() -> None:
        with unchecked(settings):
            inside.set()
            assert may_end.wait(10)

    def second() -> None:
        with unchecked(settings):
            may_end.set()
            one.join(0.2)  # what the first one does in its end, if it may
            seen.append(set(settings.values()))

    one, other = Thread(target=first), Thread(target=second)
    one.start()
    assert inside.wait(10)
    other.start()
    other.join(0.2)
    may_end.set()
    other.join(10)
    one.join(10)
    assert seen == [{"false"}]
    assert set(settings.values()) == {"true"}
