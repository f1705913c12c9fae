"""What is a rule, and what the words say about what is none."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.examples.rules.expressions import EvaluationError, activation, as_held, compiled
from tandem.examples.rules.rule import BadRuleError, parse
from unit.examples.rule_records import VARIABLES, event, rule_json


def matches(when: str, **columns: Any) -> bool:
    return compiled(parse(rule_json(when=when)), VARIABLES).matches(activation(event(**columns).columns, VARIABLES))


def amount(value: str, **columns: Any) -> float:
    rule = compiled(parse(rule_json(aggregation="sum", value=value)), VARIABLES)
    return rule.amount(activation(event(**columns).columns, VARIABLES))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "Invalid JSON"),
        (b"{", "Invalid JSON"),
        (b"\xff", "Invalid JSON"),
        (b'{"id": "\\ud800"}', "Invalid JSON"),
        (b"[" * 100_000, "recursion limit"),
        (b"[]", "should be an object"),
        (b"null", "should be an object"),
        (rule_json(colour="red"), "colour: Extra inputs"),
        (rule_json(id="a/b"), "id: String should match"),
        (rule_json(id="x" * 101), "id: String should match"),
        (rule_json(scope="everybody"), "scope"),
        (rule_json(scope={}), "customer: Field required"),
        (rule_json(when=3), "when: Input should be a valid string"),
        (rule_json(when=""), "when: String should have at least 1"),
        (rule_json(when="true || " * 300 + "true"), "when: String should have at most 2000"),
        (rule_json(aggregation="mean"), "aggregation: Input should be 'count', 'sum', 'min' or 'max'"),
        (rule_json(aggregation="sum"), "sum needs a value"),
        (rule_json(value="event.size"), "count takes no value"),
        (rule_json(windowSeconds="60"), "windowSeconds: Input should be a valid integer"),
        (rule_json(windowSeconds=0), "windowSeconds: Input should be greater"),
        (rule_json(windowSeconds=10**12), "windowSeconds: Input should be less"),
    ],
)
def test_what_is_no_rule_is_refused_with_the_field(value: bytes, reason: str) -> None:
    with pytest.raises(BadRuleError, match=reason):
        parse(value)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"when": "(("}, "when: .*Syntax error"),
        ({"when": "event.audiense == 'public'"}, "when: .*undeclared reference to 'event.audiense'"),
        ({"when": "event.audience > 3"}, "when: .*no matching overload"),
        ({"when": "event.size"}, "when: it is of the type int, not bool"),
        ({"when": "dyn(event.open)"}, "when: it is of the type dyn, not bool"),
        ({"when": "(" * 200 + "true" + ")" * 200}, "when: .*recursion limit"),
        ({"when": "'\ud800' == event.audience"}, "Invalid JSON"),
        ({"aggregation": "sum", "value": "event.audience"}, "value: it is of the type string, not int or double"),
        ({"aggregation": "max", "value": "null"}, "value: it is of the type null"),
    ],
)
def test_an_expression_is_checked_against_the_columns(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadRuleError, match=reason) as caught:
        compiled(parse(rule_json(**fields)), VARIABLES)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("when", "columns", "is_met"),
    [
        ("event.audience == 'public'", {"audience": "public"}, True),
        ("event.audience == 'public'", {"audience": None}, False),
        ("event.audience == null", {"audience": None}, True),
        ("event.audience.startsWith('pub') && event.size > 3", {"audience": "public", "size": 4}, True),
        ("event.open", {"open": True}, True),
        ("event.share > 0.5", {"share": 0.25}, False),
        ("event.time == null", {"second": None}, True),
        (
            "event.time.getFullYear() == 1970 && event.time < timestamp('1970-01-01T00:00:01.5Z')",
            {"second": 1.25},
            True,
        ),
        ("event.time < timestamp('1970-01-01T00:00:00Z')", {"second": -0.25}, True),
        ("event.open || 1 / event.size == 1", {"open": True, "size": 0}, True),
    ],
)
def test_an_event_meets_a_rule(when: str, columns: dict[str, Any], is_met: bool) -> None:
    assert matches(when, **columns) is is_met


@pytest.mark.parametrize(
    ("when", "columns", "reason"),
    [
        ("1 / event.size == 1", {"size": 0}, "divide by zero"),
        ("event.size * 9223372036854775807 > 1", {"size": 2}, "integer overflow"),
        ("event.size > 1", {}, "No matching overloads"),
        ("event.open", {}, "the answer is null"),
        ("int(event.audience) > 1", {"audience": "x"}, "cannot convert"),
        ("event.audience.matches('(')", {"audience": "x"}, "invalid regular expression"),
        ("event.time < timestamp('2026-01-01T00:00:00Z')", {"second": 1e12}, "outside of the years"),
        ("[1,2,3,4,5,6,7,8,9,10].all(a, " * 5 + "true" + ")" * 5, {}, "Iteration budget"),
    ],
)
def test_an_event_for_which_there_is_no_answer_has_a_reason(when: str, columns: dict[str, Any], reason: str) -> None:
    when = when if when.count(".all(") < 2 else _nested(5)
    with pytest.raises(EvaluationError, match=reason):
        matches(when, **columns)


def _nested(depth: int) -> str:
    numbers = f"[{','.join('1' * 10)}]"
    return "".join(f"{numbers}.all(x{level}, " for level in range(depth)) + "true" + ")" * depth


def test_an_amount_is_a_number() -> None:
    assert amount("event.size", size=3) == 3
    assert amount("event.share * 2.0", share=0.25) == 0.5
    assert amount("event.size == null ? 0 : event.size") == 0
    for value, columns, reason in (
        ("event.share / 0.0", {"share": 1.0}, "is inf"),
        ("event.size", {}, "the answer is null"),
        ("1 / event.size", {"size": 0}, "divide by zero"),
    ):
        with pytest.raises(EvaluationError, match=reason):
            amount(value, **columns)  # type: ignore[arg-type]


def test_a_rule_whose_column_is_gone_has_no_answer() -> None:
    rule = as_held(parse(rule_json(when="event.gone == 1")), VARIABLES)
    with pytest.raises(EvaluationError, match=r"undeclared reference to 'event\.gone'"):
        rule.matches(activation(event().columns, VARIABLES))


def test_equal_rules_have_equal_texts() -> None:
    one = parse(rule_json(windowSeconds=60))
    assert parse(one.text) == one
    assert one.text == parse(b' {"windowSeconds": 60, ' + rule_json()[1:]).text != parse(rule_json()).text
