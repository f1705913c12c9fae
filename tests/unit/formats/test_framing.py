"""The framing of a registry's records, read and written."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.formats.framing import UndecodableError, framed, framed_path, message_path, unframed


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.binary())
def test_what_was_framed_is_unframed(schema_id: int, payload: bytes) -> None:
    assert unframed(framed(schema_id, payload)) == (schema_id, payload)


@settings(deadline=None)
@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=5), st.binary())
def test_a_message_is_found_where_it_was_said_to_be(path: list[int], payload: bytes) -> None:
    assert message_path(framed_path(path) + payload) == (path, payload)


def test_the_first_message_is_a_single_zero_as_confluents_serialisers_write_it() -> None:
    assert framed_path([0]) == b"\0"
    assert message_path(b"\0rest") == ([0], b"rest")


@settings(deadline=None)
@given(st.binary(max_size=12))
def test_any_bytes_are_read_or_refused_and_nothing_else_is_raised(content: bytes) -> None:
    for read in (unframed, message_path):
        with suppress(UndecodableError):
            read(content)


@pytest.mark.parametrize("content", [b"", b"\1", b"\x80", b"\xff" * 9])
def test_a_place_that_is_none_is_refused(content: bytes) -> None:
    with pytest.raises(UndecodableError, match="it does not say which message"):
        message_path(content)
