"""Operators and rows of state for people."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from tandem.state.operators import Operator
from tandem.state.reader import Page, Shape
from tandem.state.tables import KeptTable


def operators_table(operators: Iterable[tuple[Operator, Sequence[Shape]]]) -> Table:
    """What there is to read: a line for each operator and part."""
    table = _table("Operator", "Name", "Part", "Partitions", "Key", "Value")
    for operator, shapes in operators:
        for number, shape in enumerate(shapes):
            columns = dict(shape.columns)
            value = "; ".join(_fields(kind) for name, kind in columns.items() if name != "key")
            first = (str(operator.id), operator.kind) if number == 0 else ("", "")
            partitions = str(operator.partitions) if number == 0 else ""
            table.add_row(*first, shape.part.label, partitions, _fields(columns.get("key", "")), value)
    return table


def tables_table(tables: Iterable[KeptTable]) -> Table:
    """A line for each table: what identifies a row, the other columns, and how many rows there are."""
    made = _table("Table", "Key", "Columns", "Rows")
    for table in tables:
        types = table.columns
        key = ", ".join(f"{name} {types[name]}" for name in table.key)
        others = ", ".join(f"{name} {kind}" for name, kind in types.items() if name not in table.key)
        made.add_row(table.name, key, others, f"{table.rows.num_rows:,}")
    return made


def page_table(page: Page) -> Table:
    """Rows of state, a column for each field of key and value."""
    fields = list(dict.fromkeys(field for row in page.rows for field in _flat(row)))
    table = _table(*(_heading(field, fields) for field in fields))
    for row in page.rows:
        flat = _flat(row)
        table.add_row(*(Text(_cell(flat.get(field)), style="cyan" if field[0] == "key" else "") for field in fields))
    return table


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def _flat(row: dict[str, Any]) -> dict[tuple[str, str], Any]:
    found: dict[tuple[str, str], Any] = {}
    for column, value in row.items():
        if isinstance(value, dict):
            found |= {(column, field): inner for field, inner in value.items()}
        else:
            found[column, ""] = value
    return found


def _heading(field: tuple[str, str], fields: Sequence[tuple[str, str]]) -> str:
    _, name = field
    alone = sum(other == name for _, other in fields) == 1
    return name if name and alone else ".".join(filter(None, field))


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)


def _fields(kind: str) -> str:
    """`a string, b int` of `struct<a:string,b:int>`."""
    inner = kind.removeprefix("struct<")
    if inner == kind:
        return kind
    depth, words = 0, ""
    for letter in inner[:-1]:
        depth += (letter in "<(") - (letter in ">)")
        words += {",": ", ", ":": " "}.get(letter, letter) if depth == 0 else letter
    return words
