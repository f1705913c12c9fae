"""The CRD's schema is one that Kubernetes takes, and says what the models say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tandem.manifest import ReplicatedStreamJob, load, parse
from tandem.manifest.tree import read
from tandem_operator.crd.__main__ import drifted, main, write
from tandem_operator.crd.document import crd
from tandem_operator.crd.schema import crd_schema, structural
from tandem_operator.status import Status
from unit.operator.structural import defaulted, errors, flaws

SCHEMA = crd_schema()
ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "jobs" / "tandem" / "examples").rglob("*.yaml"))


def nodes(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from nodes(schema[key], f"{path}.*")


def test_what_is_committed_is_what_the_models_say() -> None:
    assert drifted(ROOT) == (), "run python -m tandem_operator.crd"


def test_a_file_that_is_not_up_to_date_fails_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path)
    assert main(["--check", "--root", str(tmp_path)]) == 0

    (tmp_path / "crds" / "tandem.dev_replicatedstreamjobs.yaml").write_text("kind: CustomResourceDefinition\n")

    assert main(["--check", "--root", str(tmp_path)]) == 1
    assert "crds/tandem.dev_replicatedstreamjobs.yaml is not up to date" in capsys.readouterr().err


def test_the_chart_ships_the_same_bytes() -> None:
    name = "tandem.dev_replicatedstreamjobs.yaml"

    assert (ROOT / "helm/tandem/crds" / name).read_bytes() == (ROOT / "crds" / name).read_bytes()


def test_the_file_is_yaml_of_the_document() -> None:
    text = (ROOT / "crds" / "tandem.dev_replicatedstreamjobs.yaml").read_text()

    assert read(text).value == crd()


def test_the_schema_is_structural() -> None:
    assert list(flaws(SCHEMA)) == []


def test_every_field_is_described() -> None:
    properties = SCHEMA["properties"]
    named = [node for part in ("spec", "status") for node in nodes(properties[part], part)]

    assert [path for path, node in named if not path.endswith("*") and "description" not in node] == []


def test_nothing_is_without_an_end() -> None:
    """Or the API server would reckon that a rule costs too much."""
    for path, node in nodes(SCHEMA["properties"]["spec"]):
        if node.get("type") == "string" and "enum" not in node:
            assert "maxLength" in node, path
        assert "maxItems" in node or node.get("type") != "array", path
        assert "maxProperties" in node or "additionalProperties" not in node, path


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_are_accepted(path: Path) -> None:
    assert load(path).model.kind == "ReplicatedStreamJob"
    assert list(errors(SCHEMA, read(path.read_text()).value)) == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_the_api_server_fills_in_is_what_the_models_fill_in(path: Path) -> None:
    given = read(path.read_text()).value

    assert parse(defaulted(SCHEMA, given)) == parse(given)


def test_every_field_of_the_spec_is_in_the_schema() -> None:
    spec = ReplicatedStreamJob.model_json_schema(by_alias=True)["$defs"]["Spec"]["properties"]

    assert SCHEMA["properties"]["spec"]["properties"].keys() == spec.keys()


def test_a_status_is_accepted_as_it_is_written() -> None:
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "AtTheHead",
        "message": "2 of 2 replicas are at the head",
        "lastTransitionTime": "2026-11-21T21:00:00Z",
        "observedGeneration": 3,
    }
    failover = {"time": "2026-11-21T21:00:00Z", "from": "replica-0", "to": "replica-1", "epoch": 7, "gapMs": 120}
    status = Status.model_validate({"phase": "Running", "conditions": [condition], "lastFailover": failover})

    written = status.model_dump(mode="json", exclude_none=True)

    assert written["lastFailover"] == failover
    assert list(errors(SCHEMA["properties"]["status"], written)) == []


def test_the_status_is_not_filled_in_by_the_api_server() -> None:
    assert [path for path, node in nodes(SCHEMA["properties"]["status"]) if "default" in node] == []


def test_the_history_has_an_end() -> None:
    assert SCHEMA["properties"]["status"]["properties"]["history"]["maxItems"] == 10


def test_a_model_that_kubernetes_has_no_words_for_is_refused() -> None:
    class Choice(BaseModel):
        value: int | list[str]

    with pytest.raises(ValueError, match="no choice of 2 types"):
        structural(Choice, (), None, with_defaults=False)


def test_scaling_and_columns_lead_to_fields_that_exist() -> None:
    version = crd()["spec"]["versions"][0]
    paths = [column["jsonPath"] for column in version["additionalPrinterColumns"]]
    schema = version["schema"]["openAPIV3Schema"]

    for path in (*paths, *version["subresources"]["scale"].values()):
        node: Mapping[str, Any] = schema
        for part in path.split(".")[1:]:
            if part == "metadata":
                break
            node = node["properties"][part]
    assert [column["name"] for column in version["additionalPrinterColumns"]] == [
        *("Lanes", "Active", "Standby", "Mode", "Leader", "Epoch", "Lag", "Phase", "Age")
    ]
