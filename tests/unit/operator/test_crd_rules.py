"""The CRD's rules: each is tried, points to something, and agrees with the runtime's own."""

from __future__ import annotations

import pytest

from cluster.crd_cases import CASES, Case
from cluster.wrong_manifests import WRONG, Wrong
from tandem.manifest import ManifestError, parse
from tandem.manifest import rules as runtime
from tandem_operator.crd.cel import Rule, path, text
from tandem_operator.crd.fields import durations
from tandem_operator.crd.rules import RULES
from tandem_operator.crd.schema import at, crd_schema
from unit.operator.structural import errors

SCHEMA = crd_schema()
SAID_OTHERWISE = {
    "names_are_unique",
    "requests_fit_into_limits",
    "heap_fits_into_the_container",
    "epochs_fit_into_the_heap",
    "spark_settings_have_an_effect",
    "buffers_hold_a_record",
    "client_logs_are_known",
    "columns_are_told_apart",
    "schemas_of_avro_are_json",
    "tables_are_told_apart",
    "tables_are_apart_from_state",
    "postgres_tables_differ",
}
"""Rules of the runtime that a list with keys says without CEL, or that only the operator checks: CEL cannot bound what it
costs to compare amounts that may be numbers or texts, reads no schema, and knows no list of Spark's settings."""


def by_rule(rule: Rule) -> str:
    return rule.id


def case_id(case: Case) -> str:
    return f"{case.rule}-{CASES.index(case)}"


def wrong_id(wrong: Wrong) -> str:
    return wrong.name


def test_every_rule_has_a_name_of_its_own() -> None:
    names = [rule.id for rule in RULES]

    assert len(set(names)) == len(names)


def test_every_rule_is_tried_and_every_trial_is_of_a_rule() -> None:
    assert {case.rule for case in CASES} == {rule.id for rule in RULES}


def test_every_rule_of_the_runtime_is_said_to_the_api_server_too() -> None:
    mirrored = {name for rule in RULES for name in rule.mirrors}

    assert mirrored | SAID_OTHERWISE == {rule.__name__ for rule in runtime.RULES}


@pytest.mark.parametrize("rule", RULES, ids=by_rule)
def test_a_rule_is_about_something_that_exists(rule: Rule) -> None:
    for where in rule.paths:
        at(at(SCHEMA, where), tuple(rule.field_path.split(".")[1:]))


@pytest.mark.parametrize("rule", RULES, ids=by_rule)
def test_a_rule_says_what_to_do(rule: Rule) -> None:
    problem, _, remedy = rule.message.partition(". ")

    assert problem
    assert remedy, rule.message
    assert len(rule.message) <= 2048
    assert "\n" not in rule.message


@pytest.mark.parametrize("rule", RULES, ids=by_rule)
def test_a_rule_closes_what_it_opens(rule: Rule) -> None:
    depth, quoted, escaped = 0, False, False
    for character in rule.expression:
        if not escaped and character == "'":
            quoted = not quoted
        escaped = character == "\\" and not escaped
        depth += 0 if quoted else {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
        assert depth >= 0
    assert (depth, quoted) == (0, False)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.is_about_changes], ids=by_rule)
def test_a_rule_about_changes_stands_where_old_and_new_can_be_told_apart(rule: Rule) -> None:
    assert all("[]" not in where and "{}" not in where for where in rule.paths)


def test_trials_of_changes_have_an_object_to_change() -> None:
    about_changes = {rule.id for rule in RULES if rule.is_about_changes}

    assert {case.rule for case in CASES if case.old is not None} == about_changes
    assert all((case.old is not None) == (case.rule in about_changes) for case in CASES)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_what_a_rule_accepts_the_runtime_accepts(case: Case) -> None:
    for manifest in (case.good, *((case.before,) if case.before else ())):
        assert list(errors(SCHEMA, manifest)) == []
        parse(manifest)


@pytest.mark.parametrize("case", [case for case in CASES if case.old is None], ids=case_id)
def test_what_a_rule_rejects_the_runtime_refuses_too(case: Case) -> None:
    assert list(errors(SCHEMA, case.bad)) == []
    with pytest.raises(ManifestError):
        parse(case.bad)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_words_that_a_trial_looks_for_are_those_of_its_rule(case: Case) -> None:
    assert case.fragment in next(rule.message for rule in RULES if rule.id == case.rule)


def test_every_bound_of_a_duration_has_a_rule() -> None:
    assert {f"duration-{'-'.join(where[1:])}" for where, _ in durations()} <= {rule.id for rule in RULES}


def test_there_are_enough_wrong_manifests() -> None:
    assert len({wrong.name for wrong in WRONG}) == len(WRONG) >= 30


@pytest.mark.parametrize("wrong", WRONG, ids=wrong_id)
def test_a_wrong_manifest_is_refused_by_the_runtime(wrong: Wrong) -> None:
    with pytest.raises(ManifestError) as caught:
        parse(wrong.manifest)

    assert wrong.found_by != "operator" or wrong.fragment in str(caught.value)


@pytest.mark.parametrize("wrong", WRONG, ids=wrong_id)
def test_a_wrong_manifest_is_found_where_the_table_says(wrong: Wrong) -> None:
    said = list(errors(SCHEMA, wrong.manifest))

    if wrong.found_by == "schema":
        assert any(wrong.fragment in error for error in said), said
    else:
        assert said == []
        assert wrong.found_by == "operator" or any(wrong.fragment in rule.message for rule in RULES)


def test_paths_and_texts_are_written_as_cel_reads_them() -> None:
    assert path("spec.sources[].topics[]") == ("spec", "sources", "[]", "topics", "[]")
    assert path("spec.kafka.secretProperties{}") == ("spec", "kafka", "secretProperties", "{}")
    assert text(r"it's \d") == r"'it\'s \\d'"
