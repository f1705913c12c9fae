"""Lines become values of records, and values become lines."""

from __future__ import annotations

import pytest

from tandem.devtools.feeding import values_of
from tandem.devtools.rows import Row


def test_a_line_is_a_value_whatever_its_end_and_blank_ones_are_none() -> None:
    assert list(values_of([b'{"a": 1}\n', b"\n", b" two \r\n", b"  \n", b"\xff"])) == [b'{"a": 1}', b" two ", b"\xff"]


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (b'{"price": 1.10}', '{"price": 1.10}'),
        ('{"text": "a\u2028b"}'.encode(), '{"text": "a\u2028b"}'),
        (b'{\r\n  "a": 1\n}', '{   "a": 1 }'),
        (b"\xff", "\ufffd"),
        (None, "null"),
    ],
    ids=["as it is", "other separators stay", "one line", "no UTF-8", "a tombstone"],
)
def test_a_value_is_one_line(value: bytes | None, line: str) -> None:
    assert Row(value, 7).line() == line


def test_the_epoch_comes_before_the_value_if_it_is_wanted() -> None:
    assert Row(b"tea", 7).line(with_epoch=True) == "7\ttea"
    assert Row(b"tea", None).line(with_epoch=True) == "-\ttea"
