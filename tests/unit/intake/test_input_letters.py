"""A dead letter says where the record stands, why it was not processed and what it holds, and fits into the topic."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.intake.letters import InputRecord, letter

RECORD = InputRecord("events", "in", 2, 41, 1_700_000_000_123, b"k", b'{"id":')
FEW = settings(derandomize=True, database=None, deadline=None, max_examples=200)


def written(value: bytes | None, most_bytes: int = 1_000_000, **other: Any) -> dict[str, Any]:
    fields = {name: getattr(RECORD, name) for name in InputRecord.__slots__}
    key, text = letter(InputRecord(**fields | {"value": value} | other), "a reason", most_bytes)
    assert len(key or b"") + len(text) <= max(most_bytes, 1_000)
    found: dict[str, Any] = json.loads(text)
    return found


def test_an_ordinary_letter_is_the_text_that_older_versions_wrote() -> None:
    assert letter(RECORD, "why", 1_000_000) == (
        b"k",
        b'{"source":"events","topic":"in","partition":2,"offset":41,"timestamp":"2023-11-14T22:13:20.123Z",'
        b'"reason":"why","value":"{\\"id\\":"}',
    )


def test_a_record_without_a_value_has_a_letter_without_one_and_an_empty_value_stays_empty() -> None:
    assert "value" not in written(None)
    assert written(b"")["value"] == ""


def test_bytes_that_are_no_text_are_kept_exactly_beside_what_can_be_read() -> None:
    found = written(b"caf\xe9")

    assert (found["value"], base64.b64decode(found["valueBase64"])) == ("caf\ufffd", b"caf\xe9")
    assert "valueBase64" not in written("café".encode())


@pytest.mark.parametrize("time", [2**63 - 1, -(2**63), 253_402_300_800_000, -62_135_596_800_001])
def test_a_time_that_is_no_date_is_kafkas_number(time: int) -> None:
    assert written(b"v", timestamp_ms=time)["timestamp"] == time


def test_the_first_and_the_last_day_are_dates() -> None:
    assert written(b"v", timestamp_ms=253_402_300_799_999)["timestamp"] == "9999-12-31T23:59:59.999Z"
    assert written(b"v", timestamp_ms=-62_135_596_800_000)["timestamp"] == "0001-01-01T00:00:00.000Z"


def test_a_large_value_is_cut_between_characters_and_says_how_long_it_was() -> None:
    found = written("é".encode() * 50_000, 10_000)

    assert (found["truncated"], found["valueBytes"]) == (True, 100_000)
    assert set(found["value"]) == {"é"}
    assert len(found["value"].encode()) > 5_000
    assert "valueBase64" not in found


def test_a_large_key_is_cut_as_well() -> None:
    key, text = letter(InputRecord("s", "t", 0, 0, 0, b"k" * 9_000, b"v" * 9_000), "why", 2_000)

    assert key == b"k" * 500
    found = json.loads(text)
    assert (found["truncated"], found["keyBytes"], found["valueBytes"]) == (True, 9_000, 9_000)


@FEW
@given(
    st.binary(max_size=3_000) | st.text(max_size=1_000).map(str.encode),
    st.none() | st.binary(max_size=3_000),
    st.integers(-(2**63), 2**63 - 1),
    st.text(max_size=3_000),
    st.integers(1, 8_000),
)
def test_whatever_a_record_holds_its_letter_fits_and_has_its_coordinates(
    value: bytes, key: bytes | None, time: int, reason: str, most_bytes: int
) -> None:
    kept, text = letter(InputRecord("s", "t" * 249, 2**31 - 1, 2**63 - 1, time, key, value), reason, most_bytes)

    assert len(kept or b"") + len(text) <= max(most_bytes, 1_000)
    found = json.loads(text)
    assert (found["partition"], found["offset"]) == (2**31 - 1, 2**63 - 1)
    exact = base64.b64decode(found["valueBase64"]) if "valueBase64" in found else found["value"].encode()
    assert value.startswith(exact)
    assert exact == value or found["valueBytes"] == len(value)
