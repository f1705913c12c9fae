"""Records of a schema that refers to itself are read as far as they are nested reasonably, and end no process."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from typing import Any

import pytest
from fastavro import parse_schema, schemaless_writer
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.formats.avro import AvroReader
from tandem.formats.avro_depth import check_depth, refers_to_itself
from tandem.formats.framing import UndecodableError
from tandem.formats.schemas import RegisteredSchema


def record(name: str, **fields: object) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": one, "type": kind} for one, kind in fields.items()]}


def registered(schema_id: int, tree: object) -> RegisteredSchema:
    return RegisteredSchema(schema_id, "AVRO", json.dumps(tree))


def read(writer: object, payload: bytes) -> Any:
    """By a reader's schema that has only the number."""
    return AvroReader(registered(1, record("Node", v="int"))).read(registered(2, writer), payload)


LIST = record("Node", v="int", next=["null", "Node"])
TREE = record("Node", v="int", children={"type": "array", "items": "Node"}, by={"type": "map", "values": "Node"})
DEEP = """
from unit.formats.test_avro_depth import LIST, read
from tandem.formats.framing import UndecodableError

try:
    read(LIST, bytes([2, 2]) * 1_000_000 + bytes([2, 0]))
except UndecodableError as error:
    print(error)
"""


def test_a_record_of_a_million_levels_is_undecodable_and_the_process_lives() -> None:
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    argv = [sys.executable, "-c", DEEP]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False, env=paths)

    assert ended.returncode == 0, ended.stderr
    assert "it cannot be read by its schema 2 and the reader's: it is nested too deeply" in ended.stdout


def test_a_record_within_itself_that_no_byte_ends_is_undecodable() -> None:
    with pytest.raises(UndecodableError, match="nested too deeply"):
        read(record("Node", next="Node"), b"")


@pytest.mark.parametrize("levels", [0, 1, 400])
def test_a_list_of_some_levels_is_read(levels: int) -> None:
    assert read(LIST, bytes([2, 2]) * levels + bytes([2, 0])) == {"v": 1}


NODES = st.recursive(
    st.builds(lambda v: {"v": v, "children": [], "by": {}}, st.integers(-5, 2**31 - 1)),
    lambda inner: st.fixed_dictionaries(
        {"v": st.just(1), "children": st.lists(inner), "by": st.dictionaries(st.text(), inner)}
    ),
)


@settings(deadline=None)
@given(NODES)
def test_trees_are_read(node: dict[str, Any]) -> None:
    stream = io.BytesIO()
    schemaless_writer(stream, parse_schema(TREE), node)

    assert read(TREE, stream.getvalue()) == {"v": node["v"]}


ALL = record(
    "Node",
    a=["null", "Node"],
    b="boolean",
    f="float",
    d="double",
    s="string",
    x={"type": "fixed", "name": "Two", "size": 2},
    y="Two",
    e={"type": "enum", "name": "E", "symbols": ["A", "B"]},
    n={"type": "long", "logicalType": "timestamp-millis"},
    c={"type": "map", "values": ["null", "bytes", "Node"]},
)


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_gone_through_or_left_to_the_reader(payload: bytes) -> None:
    named: dict[str, Any] = {}
    tree = parse_schema(ALL, named_schemas=named)
    try:
        check_depth(tree, named, payload)
    except UndecodableError as error:
        assert "more than 10 bytes" in str(error)  # noqa: PT017 - most bytes are none


@pytest.mark.parametrize(
    ("tree", "found"),
    [
        (LIST, True),
        (TREE, True),
        (ALL, True),
        ([record("A", b=["null", record("B", a=["null", "A"])]), "null"], True),
        (record("A", b=record("B", v="int"), c="B", d=["null", "B"]), False),
        ("int", False),
    ],
)
def test_a_schema_that_refers_to_itself_is_found(tree: Any, found: bool) -> None:
    named: dict[str, Any] = {}
    assert refers_to_itself(parse_schema(tree, named_schemas=named), named) is found
