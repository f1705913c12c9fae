"""Every example can be applied as it stands: its code is in its own file, or in the image; and it runs here, too."""

from __future__ import annotations

import re
import shlex
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from alerts.rules import ROOT
from tandem.manifest import check_code, find_code, load
from tandem_operator.crd.schema import crd_schema
from unit.operator.structural import errors

EXAMPLES = sorted((ROOT / "jobs" / "tandem" / "examples").rglob("*.yaml"))
OF_THE_DOCS = sorted((ROOT / "docs").rglob("*.yaml"))
EXAMPLES_PAGE = (ROOT / "docs" / "how-to" / "run-the-examples.md").read_text()
KIND = "ReplicatedStreamJob"

each_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)


def documents(path: Path) -> list[dict[str, Any]]:
    return [document for document in YAML(typ="safe").load_all(path.read_text()) if document]


def as_in_a_pod(job: dict[str, Any], beside: list[dict[str, Any]], folder: Path) -> Path:
    """The manifest in a folder of its own, with what its ConfigMap holds beside it, as far as that is applied with it."""
    for thing in beside:
        if thing["kind"] == "ConfigMap" and thing["metadata"]["name"] == job["spec"]["job"].get("configMap"):
            for name, text in thing["data"].items():
                (folder / name).write_text(text)
    manifest = folder / "manifest.yaml"
    YAML(typ="safe").dump(job, manifest)
    return manifest


def jobs_of_all() -> list[tuple[str, dict[str, Any], list[dict[str, Any]]]]:
    found = []
    for path in (*EXAMPLES, *OF_THE_DOCS):
        things = documents(path)
        found += [(path.stem, thing, things) for thing in things if thing["kind"] == KIND]
    return found


def test_there_are_examples() -> None:
    assert {name for name, _, _ in jobs_of_all()} >= {"flights", "enrich", "orders"}


@pytest.mark.parametrize(("job", "beside"), [pytest.param(job, beside, id=name) for name, job, beside in jobs_of_all()])
def test_an_examples_code_is_where_its_pods_look_for_it(
    job: dict[str, Any], beside: list[dict[str, Any]], tmp_path: Path
) -> None:
    assert list(errors(crd_schema(), job)) == []
    manifest = load(as_in_a_pod(job, beside, tmp_path))

    assert check_code(manifest) == ()
    if manifest.spec.job.module is not None:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]
        code = find_code(manifest).path
        assert code.is_relative_to(ROOT / "jobs")  # which the image is made of
        assert any(fnmatch(manifest.spec.job.module.rpartition(".")[0], kept) for kept in project["include"])
        assert all((folder / "__init__.py").is_file() for folder in (code.parent, code.parent.parent))


@each_example
def test_what_an_example_says_about_this_machine_makes_it_name_this_machine(path: Path) -> None:
    (command,) = re.findall(r"^# +(sed .*) >", path.read_text(), re.MULTILINE)

    done = subprocess.run(shlex.split(command), cwd=ROOT, capture_output=True, text=True, check=True)

    here, there = YAML(typ="safe").load(done.stdout)["spec"], documents(path)[0]["spec"]
    assert (here["kafka"]["bootstrapServers"], here["zookeeper"]["connect"]) == ("localhost:9092", "localhost:2181")
    assert here["job"].get("options", {}).get("service", "localhost:8901") == "localhost:8901"
    assert here["job"].keys() == there["job"].keys()


@each_example
def test_the_quick_start_has_the_servers_and_the_topics_that_an_example_names(path: Path) -> None:
    spec = documents(path)[0]["spec"]
    topics = [
        *(topic for source in spec["sources"] for topic in source["topics"]),
        *(s["topic"] for s in spec["sinks"]),
    ]
    servers = [
        spec["kafka"]["bootstrapServers"],
        spec["zookeeper"]["connect"],
        *spec["job"].get("options", {}).values(),
    ]
    made = [
        document for document in documents(ROOT / "docs" / "kubernetes" / "kafka.yaml") if document["kind"] == "Service"
    ]
    ports = {thing["metadata"]["name"]: str(thing["spec"]["ports"][0]["port"]) for thing in made}
    ports |= dict(re.findall(r"kubectl expose deployment (\S+) --port=(\d+)", EXAMPLES_PAGE))

    loops = re.findall(r"for topic in (.*); do\n.* --create .*?(?:--partitions (\d+))?\n", EXAMPLES_PAGE)
    lanes = spec.get("lanes", 1)
    assert [made for made, count in loops if {*topics} <= {*made.split()} and int(count or 1) % lanes == 0]
    assert f"kubectl apply -f {path.relative_to(ROOT)}" in EXAMPLES_PAGE
    assert [
        server for server in servers if ":" in server and ports.get(server.split(":")[0]) != server.split(":")[1]
    ] == []


def test_the_modules_that_the_quick_start_runs_in_pods_are_in_the_image() -> None:
    modules = re.findall(r"--image=tandem:\S+ .*-- python -m (\S+)", EXAMPLES_PAGE)

    assert modules
    assert [module for module in modules if not (ROOT / "jobs" / f"{module.replace('.', '/')}.py").is_file()] == []
