"""An id that the registry has not got at first is asked for again, though not for every record that names it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tandem.formats import registry, unknown
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
    monkeypatch.setattr(unknown, "_PATIENT_S", 0.0)
    return Known(clock)


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids are waited for a moment, and the shorter time is none."""
    monkeypatch.setattr(unknown, "_PATIENT_S", 0.1)
    monkeypatch.setattr(unknown, "_SHORT_S", 0.0)
    monkeypatch.setattr(registry, "_AGAIN_S", 0.01)


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


@pytest.mark.parametrize("schema_id", [2**31, 2**32 - 1])
def test_a_number_that_is_no_registrys_id_is_unknown_and_not_asked_for(schemas: Known, schema_id: int) -> None:
    schemas.is_down = True  # as the answer to such a request is taken

    schemas.fetch([schema_id], unwanted, 10)

    assert schemas.known(schema_id) is None
    assert schemas.asked == []


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
    monkeypatch.setattr(unknown, "_PATIENT_S", 0.05)
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


@pytest.mark.usefixtures("brief")
def test_ever_new_unknown_ids_cost_their_full_wait_once_and_then_a_short_one(clock: Clock) -> None:
    schemas, heard = Known(clock), list[str]()
    schemas.fetch([1_000_000], heard.append, 10)
    assert len(heard) > 1

    for schema_id in range(1_000_001, 1_000_029):
        clock.now_s += 1
        schemas.fetch([schema_id], unwanted, 10)
    clock.now_s += 1

    schemas.there[1_000_030] = SCHEMA
    schemas.fetch([1_000_030], unwanted, 10)
    assert schemas.known(1_000_030) is not None


@pytest.mark.usefixtures("brief")
def test_an_id_like_those_that_the_registry_has_is_waited_for_in_any_case(clock: Clock) -> None:
    schemas, heard = Known(clock), list[str]()
    schemas.there[500] = SCHEMA
    schemas.fetch([500, 1_000_000], ignored, 10)
    clock.now_s += 1
    schemas.fetch([1_000_001], unwanted, 10)
    schemas.fetch([501], heard.append, 10)
    assert heard


@pytest.mark.usefixtures("brief")
def test_once_an_id_has_come_late_others_are_waited_for_again(clock: Clock) -> None:
    schemas, heard = Known(clock), list[str]()
    schemas.there[500] = SCHEMA
    schemas.fetch([500, 1_000_000], ignored, 10)
    clock.now_s += 1

    def comes(_: str) -> None:
        schemas.there[501] = SCHEMA

    schemas.fetch([501], comes, 10)
    assert schemas.known(501) is not None
    schemas.fetch([1_000_001], heard.append, 10)
    assert heard


def test_after_some_time_a_new_id_is_waited_for_again(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unknown, "_SHORT_S", 0.0)
    monkeypatch.setattr(registry, "_AGAIN_S", 0.01)
    monkeypatch.setattr(unknown, "_PATIENT_S", 0.02)
    schemas = Known(clock)
    schemas.fetch([1_000_001], ignored, 10)
    clock.now_s += 30
    monkeypatch.setattr(unknown, "_PATIENT_S", 5.0)

    def comes(_: str) -> None:
        schemas.there[1_000_002] = SCHEMA

    schemas.fetch([1_000_002], comes, 10)
    assert schemas.known(1_000_002) is not None


def test_many_new_unknown_ids_of_an_epoch_are_asked_side_by_side_and_hardly_waited_for(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unknown, "_SHORT_S", 0.0)
    schemas, heard = Known(clock), list[str]()
    schemas.there[40] = SCHEMA
    schemas.fetch(range(100), heard.append, 10)

    assert sorted(schemas.asked) == list(range(100))
    assert all("more schemas" in what for what in heard)
    assert [one for one in range(100) if schemas.known(one) is not None] == [40]


def test_what_is_remembered_of_unknown_ids_has_an_end(schemas: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unknown, "_REMEMBERED", 10)
    schemas.fetch(range(25), ignored, 10)

    assert [one for one in range(25) if not schemas._unknown.is_new(one)] == list(range(15, 25))
    assert {schemas.known(one) for one in range(25)} == {None}


def test_trouble_with_one_of_many_is_waited_for(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unknown, "_PATIENT_S", 0.0)
    monkeypatch.setattr(registry, "_AGAIN_S", 0.01)
    schemas = Known(clock)
    schemas.there = dict.fromkeys(range(40), SCHEMA)
    schemas.is_down = True

    def up(_: str) -> None:
        schemas.is_down = False

    schemas.fetch(range(40), up, 10)
    assert None not in {schemas.known(one) for one in range(40)}
