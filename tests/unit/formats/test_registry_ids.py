"""An id that the registry has not got at first is asked for again, though not for every record that names it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tandem.formats import registry
from tandem.formats.registry import RegistryTimeoutError, RegistryTroubleError, SchemaRegistry


class Known(SchemaRegistry):
    """Asks no server, but what `there` has; `asked`: for which ids. It is down while `is_down`."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        super().__init__({"url": "http://registry"}, clock_s)
        self.there: dict[int, Any] = {}
        self.asked: list[int] = []
        self.is_down = False

    def get_schema(self, schema_id: int) -> Any:
        """As the client does."""
        self.asked.append(schema_id)
        return self.there.get(schema_id)

    def _asked(self, question: Callable[[Any], Any]) -> Any:
        if self.is_down:
            raise RegistryTroubleError("it is down")
        return question(self)


class Clock:
    """Stands still until it is moved."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def schemas(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Known:
    monkeypatch.setattr(registry, "_UNKNOWN_S", 0.0)
    return Known(clock)


SCHEMA = SimpleNamespace(schema_type="AVRO", schema_str='"int"', references=None)


def ignored(_: str) -> None:
    """Waits as long as it takes."""


def unwanted(what: str) -> None:
    raise AssertionError(f"it waits for {what}")


def test_an_id_that_the_registry_gets_later_is_known_then(schemas: Known, clock: Clock) -> None:
    schemas.fetch([105], ignored, 10)
    assert schemas.known(105) is None

    schemas.there[105] = SCHEMA
    clock.now_s += 0.1
    schemas.fetch([105], unwanted, 10)

    found = schemas.known(105)
    assert found is not None
    assert found.text == '"int"'


def test_an_id_that_stays_unknown_is_asked_for_more_and_more_rarely_but_at_least_each_30_s(
    schemas: Known, clock: Clock
) -> None:
    for _ in range(1_000):  # ten epochs a second
        schemas.fetch([0], ignored, 10)
        clock.now_s += 0.1
    assert 5 < len(schemas.asked) < 15

    schemas.there[0] = SCHEMA
    clock.now_s += 30
    schemas.fetch([0], unwanted, 10)
    assert schemas.known(0) is not None


def test_only_a_new_id_is_waited_for(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_UNKNOWN_S", 0.05)
    monkeypatch.setattr(registry, "_AGAIN_S", 0.01)
    schemas, heard = Known(clock), list[str]()
    schemas.fetch([105], heard.append, 10)
    assert heard

    clock.now_s += 60
    schemas.fetch([105], unwanted, 10)
    assert schemas.known(105) is None


def test_what_was_unknown_is_no_reason_to_write_letters_while_the_registry_is_down(
    schemas: Known, clock: Clock
) -> None:
    schemas.fetch([105], ignored, 10)
    clock.now_s += 60
    schemas.is_down = True

    with pytest.raises(RegistryTimeoutError, match=r"schema 105 did not come within 0 s.*Nothing was skipped"):
        schemas.fetch([105], ignored, 0)


def test_a_known_schema_is_never_asked_for_again(schemas: Known, clock: Clock) -> None:
    schemas.there[7] = SCHEMA
    for _ in range(3):
        schemas.fetch([7], unwanted, 10)
        clock.now_s += 100
    assert schemas.asked == [7]
