"""One record, one JSON object: text behind it is found, and nothing else is taken for that."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.intake.documents import is_deep, text_behind

FEW = settings(derandomize=True, database=None, deadline=None, max_examples=300)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab{}[]\"'\\,: é", max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab{}", max_size=3), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text('ab"}{', max_size=4), ANYTHING, max_size=4)
SPACE = st.text(" \t\r\n\0", max_size=3)


@FEW
@given(OBJECTS, SPACE, st.booleans())
def test_an_object_has_nothing_behind_it_whatever_its_strings_hold(
    document: dict[str, Any], space: str, plain: bool
) -> None:
    assert text_behind((json.dumps(document, ensure_ascii=plain) + space).encode()) is None


@FEW
@given(OBJECTS, SPACE, st.sampled_from(["{}", '{"id":2}', "x", ",", "}", "]", "null", '"', "'", "{", "\\"]), SPACE)
def test_whatever_follows_an_object_is_found_where_it_begins(
    document: dict[str, Any], space: str, more: str, end: str
) -> None:
    text = json.dumps(document)

    assert text_behind((text + space + more + end).encode()) == len(text) + len(space)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (b"{'a':'}'}", None),
        (b"{'a':'}'} {", 10),
        (b'{"a":"\xff}"}', None),
        (b'{"a":"\xff}"}{"b":1}', 10),
        (b'{"a":NaN,"b":{}}', None),
        (b'{"a":{"b":[1,{}]}', None),
        (b"", None),
        (b" \0", None),
    ],
)
def test_what_spark_reads_and_strict_parsers_do_not(value: bytes, place: int | None) -> None:
    assert text_behind(value) == place


@pytest.mark.parametrize("depth", [1, 500, 501, 100_000])
def test_how_deep_a_text_is_does_not_depend_on_what_its_strings_hold(depth: int) -> None:
    assert is_deep(b"[" * depth + b'"' + b"[{" * 600 + b'"' + b"]" * depth) == (depth > 500)
