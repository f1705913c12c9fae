"""State and savepoints as people read them."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from rich.table import Table

from tandem.cli.stores import ago, size_text
from tandem.state import Operator, Page, Part, Shape
from tandem.state.show import operators_table, page_table


def lines(table: Table) -> list[list[str]]:
    out = StringIO()
    Console(width=200, file=out).print(table)
    return [line.split() for line in out.getvalue().splitlines() if line.strip(" ─╶╴")]


def test_rows_have_a_column_for_each_field() -> None:
    rows = (
        {"key": {"carrier": "UA", "n": 1}, "value": {"n": 2, "of": {"x": 1}}},
        {"key": {"carrier": "DL", "n": None}, "value": None},
    )
    assert lines(page_table(Page(Part(), ("key", "value"), rows, False))) == [
        ["carrier", "key.n", "value.n", "of", "value"],
        ["UA", "1", "2", '{"x":', "1}", "–"],
        ["DL", "–", "–", "–", "–"],
    ]


def test_operators_are_listed_with_the_fields_of_their_keys() -> None:
    join = Operator(1, "symmetricHashJoin", 2)
    columns = (("key", "struct<a:struct<x:int,y:int>,b:string>"), ("value", "bigint"))
    shapes = [Shape(Part(side=side), columns) for side in ("left", "right")]
    assert lines(operators_table([(join, shapes)])) == [
        ["Operator", "Name", "Part", "Partitions", "Key", "Value"],
        ["1", "join", "left", "2", "a", "struct<x:int,y:int>,", "b", "string", "bigint"],
        ["right", "a", "struct<x:int,y:int>,", "b", "string", "bigint"],
    ]


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0 s"), (-5, "0 s"), (119_999, "119 s"), (120_000, "2 min"), (7_200_000, "2 h"), (259_200_000, "3 d")],
)
def test_ages_are_rough(ms: int, text: str) -> None:
    assert ago(1_000_000_000_000 - ms, 1_000_000_000_000) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (2_400_000, "2.4 MB"), (5_000_000_000_000, "5000.0 GB")],
)
def test_sizes_have_a_unit(count: int, text: str) -> None:
    assert size_text(count) == text
