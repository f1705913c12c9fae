"""Alerts as Prometheus itself understands them, and dashboards whose every query finds something in a running job."""

from __future__ import annotations

import json
import shutil
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from alerts.rules import TESTS, assemble
from cluster.jobs import ClusterJob
from cluster.kubernetes import Kubectl, run
from dashboards.write import queries, texts
from tandem.embedded.ports import free_ports
from tandem.embedded.process import ChildProcess, Command
from tandem.embedded.waiting import Deadline, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]


def test_the_rules_are_good_and_fire_when_they_should(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    run(["promtool", "check", "rules", str(assemble(tmp_path / "whole", with_annotations=True))])

    assemble(tmp_path, with_annotations=False)
    files = [shutil.copy(path, tmp_path) for path in sorted(TESTS.glob("*.test.yaml"))]
    run(["promtool", "test", "rules", *map(str, files)])


class Prometheus:
    """A Prometheus of the test's own, that scrapes the pods by their addresses."""

    def __init__(self, folder: Path, config: str) -> None:
        (port,) = free_ports(1)
        (folder / "prometheus.yml").write_text(config)
        self._url = f"http://127.0.0.1:{port}/api/v1/query"
        program = shutil.which("prometheus")
        assert program is not None, "prometheus is missing: apt-get install prometheus"
        options = (f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}")
        command = Command((program, *options, f"--web.listen-address=127.0.0.1:{port}"), folder / "prometheus.log")
        self.process = ChildProcess("prometheus", command)

    def finds(self, query: str) -> bool:
        """Whether a query has an answer that is not empty."""
        try:
            asked = f"{self._url}?{urllib.parse.urlencode({'query': query})}"
            with urllib.request.urlopen(asked, timeout=10) as answer:  # noqa: S310 - our own Prometheus
                return bool(json.load(answer)["data"]["result"])
        except OSError:
            return False


def targets(job: ClusterJob, system: str) -> list[tuple[str, str]]:
    """Address and pod of everything that serves metrics: replicas, orderers, the operator."""
    pods = [(pod["status"]["podIP"], pod["metadata"]["name"]) for pod in job.pods()]
    (operator,) = Kubectl(system).list("pods", "app.kubernetes.io/name=tandem-operator")
    return [
        *((f"{ip}:{port}", name) for ip, name in pods for port in (9400, 9401)),
        (f"{operator['status']['podIP']}:9090", operator["metadata"]["name"]),
    ]


def config(job: ClusterJob, system: str) -> str:
    scraped = [
        {"targets": [address], "labels": {"namespace": job.kubectl.namespace, "pod": pod}}
        for address, pod in targets(job, system)
    ]
    jobs = [{"job_name": "tandem", "honor_labels": True, "static_configs": scraped}]
    return json.dumps({"global": {"scrape_interval": "2s"}, "scrape_configs": jobs})


def test_every_query_of_the_dashboards_finds_something(pair: ClusterJob, tandem: str, tmp_path: Path) -> None:
    job = pair
    job.when_staffed(1, 1)
    asked = [(name, *query) for name, text in texts().items() for query in queries(json.loads(text))]
    filled_in = {"$namespace": job.kubectl.namespace, "$job_name": job.name, "$__rate_interval": "30s"}

    def expression(query: str) -> str:
        for variable, value in filled_in.items():
            query = query.replace(variable, value)
        return query

    prometheus = Prometheus(tmp_path, config(job, tandem))
    empty = {(name, title, expression(query)) for name, title, query in asked}

    def all_found() -> bool:
        empty.difference_update([one for one in empty if prometheus.finds(one[2])])
        return not empty

    try:
        assert wait_until(all_found, Deadline(120), 1.0), f"nothing is found by: {sorted(empty)}"
    finally:
        prometheus.process.stop()
