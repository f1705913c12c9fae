"""Which operator and which part of its state is meant; every mistake tells what there is."""

from __future__ import annotations

import pytest

from tandem.state import Operator, Part, UnknownOperatorError, UnknownPartError, all_parts, find_operator, parts_of

COUNT = Operator(0, "stateStoreSave", 1)
JOIN = Operator(1, "symmetricHashJoin", 1)
CHAINS = Operator(2, "transformWithStateInPySparkExec", 1, ("chain",))
MEMORY = Operator(3, "transformWithStateExec", 1, ("all", "count"))
OPERATORS = (COUNT, JOIN, CHAINS, MEMORY)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("0", COUNT),
        ("aggregation", COUNT),
        ("stateStoreSave", COUNT),
        ("JOIN", JOIN),
        ("transformWithStateExec", MEMORY),
        ("3", MEMORY),
    ],
)
def test_an_operator_is_found_by_its_id_or_name(wanted: str, expected: Operator) -> None:
    assert find_operator(OPERATORS, wanted) == expected


def test_an_aggregation_of_the_real_time_engine_has_the_same_name() -> None:
    counted = Operator(0, "StatefulStreamlineAggregate", 1)
    assert find_operator([counted], "aggregation") == counted


def test_an_unknown_operator_tells_those_that_there_are() -> None:
    there = r"there is no operator 7: there are 0 \(aggregation\), 1 \(join\), 2 \(transformWithState\), 3"
    with pytest.raises(UnknownOperatorError, match=there):
        find_operator(OPERATORS, "7")


def test_a_name_of_several_operators_asks_for_an_id() -> None:
    with pytest.raises(UnknownOperatorError, match=r"give the id of one of 2 \(transformWithState\), 3"):
        find_operator(OPERATORS, "transformWithState")


def test_what_need_not_be_said_is_not_asked_for() -> None:
    assert parts_of(COUNT) == (Part(),)
    assert parts_of(JOIN) == (Part(side="left"), Part(side="right"))
    assert parts_of(JOIN, side="right") == (Part(side="right"),)
    assert parts_of(CHAINS) == (Part(variable="chain"),)
    assert parts_of(MEMORY, variable="all") == (Part(variable="all"),)
    assert parts_of(MEMORY, timers=True) == (Part(timers=True),)
    assert all_parts(MEMORY) == (Part(variable="all"), Part(variable="count"))


@pytest.mark.parametrize(
    ("operator", "side", "variable", "timers", "reason"),
    [
        (COUNT, "left", None, False, "is no join"),
        (COUNT, None, "chain", False, "has no state variables and no timers"),
        (JOIN, None, None, True, "has no state variables and no timers"),
        (JOIN, "top", None, False, "give left or right"),
        (MEMORY, None, None, False, "name one of all, count with --variable"),
        (
            MEMORY,
            None,
            "chain",
            False,
            r"operator 3 \(transformWithState\) has no state variable chain: it has all, count",
        ),
        (MEMORY, None, "all", True, "one at a time"),
    ],
)
def test_a_part_that_an_operator_does_not_have_is_refused(
    operator: Operator, side: str | None, variable: str | None, timers: bool, reason: str
) -> None:
    with pytest.raises(UnknownPartError, match=reason):
        parts_of(operator, side, variable, timers)


def test_parts_are_read_by_the_options_of_sparks_reader() -> None:
    assert Part(side="left").options == {"joinSide": "left"}
    assert Part(variable="v").options == {"stateVarName": "v"}
    assert Part(timers=True).options == {"readRegisteredTimers": "true"}
    assert Part().options == {}
