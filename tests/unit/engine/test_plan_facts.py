"""What two plans of the same code may differ in without being different."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import Any

from tandem.engine import users_code
from tandem.engine.described import UNKNOWN
from tandem.engine.facts import _values, differing
from tandem.engine.users_code import is_users_file
from tandem.examples.flights import job

UUIDS = ("0b9c1a52-43f6-4d0c-9f43-2f1d8a1e7a10", "7d3c8b7e-9d51-4c39-8f0f-5d8f0e6c2b11")


def plan(number: int, constant: str = "3", join: str = "LeftOuter$") -> Any:
    """A plan's JSON, with what Spark numbers or draws."""
    ids = {"product-class": "o.a.s.ExprId", "id": number, "jvmId": UUIDS[number % 2]}
    return [
        {"class": "o.a.s.EventTimeWatermark", "nodeId": UUIDS[number % 2], "delay": "10 minutes", "child": 0},
        {"class": "o.a.s.CTERelationRef", "cteId": number, "_resolved": True, "isStreaming": True},
        {"class": "o.a.s.Join", "joinType": {"object": join}, "planIds": [number], "hint": None},
        {"class": "o.a.s.Alias", "name": f"_gen_alias_{number}", "exprId": ids, "comment": f"made {UUIDS[number % 2]}"},
        {"class": "o.a.s.AttributeReference", "name": f"sum(x#{number}L)", "exprId": ids, "dataType": "long"},
        {"class": "o.a.s.NamedLambdaVariable", "name": f"x_{number}", "exprId": ids, "dataType": "long"},
        {"class": "o.a.s.SubqueryAlias", "identifier": {"name": f"_pyspark_{UUIDS[number % 2].replace('-', '')}"}},
        {"class": "o.a.s.Literal", "value": f"[B@{number:x}f3", "dataType": "binary"},
        {"class": "o.a.s.Literal", "value": constant, "dataType": "integer"},
    ]


def test_what_spark_numbers_or_draws_anew_is_no_difference() -> None:
    assert list(_values(plan(4))) == list(_values(plan(17)))


def test_constants_parts_and_fields_are_differences() -> None:
    assert list(_values(plan(4))) != list(_values(plan(4, constant="4")))
    assert list(_values(plan(4))) != list(_values(plan(4, join="Inner$")))
    assert list(_values(plan(4))) != list(_values(plan(4)[1:]))
    assert list(_values(plan(4))) != list(_values([{**plan(4)[0], "delay": "5 minutes"}, *plan(4)[1:]]))


def test_what_could_not_be_compared_in_one_process_is_no_difference() -> None:
    known, unknown = {"the function f (job.py:1)": "a"}, {"the function f (job.py:1)": f"{UNKNOWN}RecursionError"}

    assert list(differing(known, unknown)) == list(differing(unknown, known)) == []
    assert list(differing(known, {"the function f (job.py:1)": "b"})) != []


def test_a_command_is_no_line_of_the_job() -> None:
    """`tandem validate` is one, and the second process has none: the places of an installed module's functions differed."""
    assert not is_users_file(str(Path(sysconfig.get_path("scripts"), "tandem")))
    assert is_users_file(__file__)


def test_an_example_is_a_users_job_although_it_is_installed_with_tandem() -> None:
    assert is_users_file(job.__file__)
    assert not is_users_file(users_code.__file__)
