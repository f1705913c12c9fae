"""A column is an input's, passed on under its name, or computed."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.engine.plan_tree import is_computed

Plan = list[dict[str, Any]]


def attribute(number: int, name: str = "topic") -> dict[str, Any]:
    return {"class": "e.AttributeReference", "num-children": 0, "name": name, "exprId": {"id": number}}


def alias(number: int, *source: dict[str, Any], name: str = "topic") -> Plan:
    return [{"class": "e.Alias", "num-children": 1, "name": name, "exprId": {"id": number}}, *source]


def plan(*selected: Plan, above: dict[str, Any] | None = None) -> Plan:
    leaf = {
        "class": "r.StreamingExecutionRelation",
        "num-children": 0,
        "output": [[attribute(1)], [attribute(2, "value")]],
    }
    project = {"class": "l.Project", "num-children": 1, "projectList": list(selected)}
    return [*([above] if above else []), project, leaf]


def in_python(*output: dict[str, Any]) -> dict[str, Any]:
    function = [{"class": "e.PythonUDF", "num-children": 2}, attribute(1), attribute(2, "value")]
    return {
        "class": "l.MapInPandas",
        "num-children": 1,
        "functionExpr": function,
        "output": [[one] for one in output],
    }


FIELD = {"class": "e.GetStructField", "num-children": 1, "ordinal": 0, "name": "topic"}
LITERAL = {"class": "e.Literal", "num-children": 0, "value": "other"}
PASSED_ON = {
    "the input's own": (1, plan([attribute(1)])),
    "the same once more": (7, plan(alias(7, attribute(1)))),
    "a field of a record": (7, plan(alias(7, FIELD, attribute(2, "record")))),
    "beside all that a function was given": (
        8,
        plan([attribute(1)], above=in_python(attribute(8), attribute(9, "value"))),
    ),
}
COMPUTED = {
    "a constant": (7, plan(alias(7, LITERAL))),
    "another column": (7, plan(alias(7, attribute(2, "value")))),
    "another field": (7, plan(alias(7, {**FIELD, "name": "route"}, attribute(2, "record")))),
    "what a function gives": (8, plan([attribute(1)], above=in_python(attribute(8), attribute(9, "text")))),
}


@pytest.mark.parametrize(("number", "given"), PASSED_ON.values(), ids=PASSED_ON)
def test_it_is_passed_on(number: int, given: Plan) -> None:
    assert not is_computed(number, "topic", given)


@pytest.mark.parametrize(("number", "given"), COMPUTED.values(), ids=COMPUTED)
def test_it_is_computed(number: int, given: Plan) -> None:
    assert is_computed(number, "topic", given)
