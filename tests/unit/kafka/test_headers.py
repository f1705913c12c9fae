"""Headers of records that anybody may have written."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Message

from tandem.kafka.headers import HEADER_BYTES, headers_of
from tandem.orderer.counted import RECORD_BYTES, weight


class OddName:
    """A record with a header whose name is no UTF-8: confluent-kafka raises where it is asked for the headers."""

    def __init__(self, message: Message) -> None:
        self._message = message

    def __getattr__(self, name: str) -> Any:
        return getattr(self._message, name)

    def __len__(self) -> int:
        return len(self._message)

    def headers(self) -> list[tuple[str, bytes | None]]:
        b"caf\xe9".decode()
        return []


def message(headers: Any = None) -> Message:
    return Message(topic="in", partition=0, offset=0, key=b"key", value=b"value", headers=headers)


def test_headers_are_as_the_client_reads_them() -> None:
    assert headers_of(message([("name", b"text"), ("none", None)])) == [("name", b"text"), ("none", None)]
    assert headers_of(message()) is None


def test_a_name_that_is_no_utf8_is_no_failure_of_who_reads() -> None:
    odd: Any = OddName(message())
    assert headers_of(odd) is None
    assert weight(odd) == RECORD_BYTES + len(b"key") + len(b"value")


def test_each_header_counts_as_what_it_costs_to_hold_however_short_it_is() -> None:
    many = message([("", b"")] * 1_000 + [("name", b"text"), ("none", None)])
    assert weight(many) == RECORD_BYTES + len(b"keyvalue") + 1_002 * HEADER_BYTES + len(b"nametextnone")
