"""What can be said of the chart without helm; the tests on a cluster install it."""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest
from ruamel.yaml import YAML

from alerts.rules import ROOT, read
from tandem.manifest import KIND
from tandem_operator.api import _KINDS
from tandem_operator.resources.accounts import accounts
from unit.operator.operator_builders import job
from unit.operator.tiny_world import KEY, World

CHART = ROOT / "helm" / "tandem"
VALUES = read(CHART / "values.yaml")
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
TEMPLATES = sorted((CHART / "templates").rglob("*.*"))
DOCUMENTED = re.compile(r"^\| `([A-Za-z.]+)` \| `(.*?)` \|", re.MULTILINE)
MANAGED = {"create", "delete", "get", "list", "patch"}
NEVER = {
    *("secrets", "nodes/proxy", "clusterroles", "clusterrolebindings", "customresourcedefinitions", "namespaces"),
    *("pods/exec", "pods/attach", "pods/portforward", "pods/ephemeralcontainers", "serviceaccounts/token"),
    *("bind", "escalate", "impersonate", "approve", "sign"),
}
"""Resources and verbs by which one could get at what one was not given."""
NEEDED = {
    "replicatedstreamjobs": {"get", "list", "watch", "create", "patch", "delete"},
    "replicatedstreamjobs/status": {"patch"},
    "pods": MANAGED | {"watch", "deletecollection"},
    "controllerrevisions": MANAGED - {"patch"},
    "events": {"create"},
}


MEANT = {"apply": {"get", "create", "patch"}, "merge": {"patch"}, "set_status": {"patch"}}
"""What the operator's verbs are to Kubernetes, where they are not alike; before it applies, it looks whose it is."""


def rights(rules: Iterable[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Resources and verbs."""
    return {(resource, verb) for rule in rules for resource in rule["resources"] for verb in rule["verbs"]}


def operators_rules() -> list[dict[str, Any]]:
    """The operator's rights, with executors."""
    text = (CHART / "templates" / "_rules.tpl").read_text()
    body = text.split('define "tandem.namespacedRules" -}}')[1]
    rules: list[dict[str, Any]] = YAML(typ="safe").load(re.sub(r"\{\{.*?\}\}", "", body))
    return rules


def default_of(path: str) -> object:
    """A value by its path; `KeyError` if there is none."""
    found: Any = VALUES
    for name in path.split("."):
        found = found[name]
    return found


def unknown_to_schema(values: Mapping[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
    """Values that the schema would refuse, because it does not name them."""
    schema = SCHEMA["definitions"][schema["$ref"].split("/")[-1]] if "$ref" in schema else schema
    properties = schema.get("properties", {})
    for name, value in values.items():
        if name in properties:
            if isinstance(value, Mapping):
                yield from unknown_to_schema(value, properties[name], f"{path}{name}.")
        elif schema.get("additionalProperties", True) is False:
            yield f"{path}{name}"


def leaves(values: Mapping[str, Any], schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, object]]:
    """Path and default of every value that the schema does not divide further."""
    for name, value in values.items():
        part = schema["properties"][name]
        part = SCHEMA["definitions"][part["$ref"].split("/")[-1]] if "$ref" in part else part
        if "properties" in part:
            yield from leaves(value, part, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def test_the_operator_may_do_with_each_kind_what_it_does_and_no_more() -> None:
    granted = {resource: set(rule["verbs"]) for rule in operators_rules() for resource in rule["resources"]}
    asked = {plural for _, plural in _KINDS.values()} | {"replicatedstreamjobs/status"}

    assert granted == {resource: NEEDED.get(resource, MANAGED) for resource in asked}


def test_what_a_driver_may_do_the_operator_may_do_too_or_it_could_not_grant_it() -> None:
    (role,) = (thing for thing in accounts(job(executors={"instances": 1}), "uid") if thing["kind"] == "Role")

    assert rights(operators_rules()) >= rights(role["rules"])


def test_the_operator_makes_changes_and_takes_away_a_job_with_what_the_chart_grants() -> None:
    granted, missing = rights(operators_rules()), set()

    def note(verb: str, kind: str, _: str) -> None:
        resource = _KINDS[kind][1] + ("/status" if verb == "set_status" else "")
        missing.update({(resource, needed) for needed in MEANT.get(verb, {verb})} - granted)

    world = World(executors={"instances": 1}, deletionPolicy="Delete", revisionHistoryLimit=1)
    world.api.refuse = note
    for image in ("one", "one", "two"):
        world.api.put({**world.job, "spec": {**world.job["spec"], "image": image, "executors": {"instances": 1}}})
        world.restarts()  # what it finds there it asks for
        world.api.refuse = note
        world.passes()
    world.api.doom(KIND, KEY.name)
    world.watch()
    world.passes()

    assert {verb for verb, _, _ in world.api.done} >= {"create", "apply", "merge", "set_status"}
    assert missing == set()


def test_nothing_in_the_chart_grants_what_would_make_more_of_it_whatever_its_values_are() -> None:
    rights = {
        (path.name, word)
        for path in TEMPLATES
        for right in re.findall(r"(?:apiGroups|resources|nonResourceURLs|verbs): *(.*)", path.read_text())
        for word in re.findall(r"[\w./*-]+", right)
    }

    assert {word for _, word in rights} >= {"pods", "roles", "deletecollection"}
    assert [right for right in sorted(rights) if right[1] in NEVER or "*" in right[1]] == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_uses_only_values_that_are_documented_and_closes_what_it_opens(path: Any) -> None:
    text = path.read_text()

    for name in re.findall(r"\.Values\.([A-Za-z][A-Za-z.]*)", text):
        default_of(name)
    opened = re.findall(r"\{\{-? *(?:if|with|range|define)\b", text)
    assert len(opened) == len(re.findall(r"\{\{-? *end\b", text))


def test_the_schema_knows_every_value() -> None:
    assert list(unknown_to_schema(VALUES, SCHEMA, "")) == []
    assert SCHEMA["properties"].keys() - {"global", "enabled"} == VALUES.keys()


def test_the_chart_can_be_a_dependency_with_a_condition() -> None:
    """As `condition: tandem.enabled` of a chart that depends on it: the schema is tried on that value, too. Helm gives
    `global` to every dependency, and `tags` to none."""
    assert list(unknown_to_schema({"enabled": True, "global": {}}, SCHEMA, "")) == []


def test_the_readme_has_every_value_with_its_default() -> None:
    documented = [
        (name, json.loads(default)) for name, default in DOCUMENTED.findall((CHART / "README.md").read_text())
    ]

    assert documented == list(leaves(VALUES, SCHEMA))


def test_the_administrator_of_a_namespace_may_grant_the_operator_all_that_it_needs_there() -> None:
    text = (CHART / "templates" / "rbac-users.yaml").read_text()
    admin = next(document for document in text.split("---") if "-admin\n" in document)

    assert 'aggregate-to-admin: "true"' in admin
    assert 'include "tandem.namespacedRules"' in admin


def test_the_chart_is_of_the_packages_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    chart = read(CHART / "Chart.yaml")

    assert chart["version"] == chart["appVersion"] == project["version"]
