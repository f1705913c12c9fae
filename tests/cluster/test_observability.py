"""Alerts as Prometheus itself understands them, and dashboards whose every query finds something in a running job."""

from __future__ import annotations

import json
import shutil
import urllib.parse
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from alerts.rules import ALERTS, TESTS, alert_files, assemble, read
from cluster.installed import OPERATOR
from cluster.jobs import ClusterJob
from cluster.kubernetes import Kubectl, run
from cluster.test_values import rendered
from dashboards.write import Choice, choices, filled_in, queries, texts
from tandem.devservers.server import free_ports
from tandem.process.child import ChildProcess, Command
from tandem.waiting import Deadline, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

SCRAPE_S: Final = 2


def test_the_rules_are_good_and_fire_when_they_should(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    run(["promtool", "check", "rules", str(assemble(tmp_path / "whole", with_annotations=True))])

    assemble(tmp_path, with_annotations=False)
    files = [shutil.copy(path, tmp_path) for path in sorted(TESTS.glob("*.test.yaml"))]
    run(["promtool", "test", "rules", *map(str, files)])
    run(["promtool", "test", "rules", shutil.copy(TESTS / "words.yaml", tmp_path / "whole")])


@pytest.mark.parametrize("base", ["", "https://example.com/tandem"])
def test_the_rules_are_good_as_helm_renders_them(tmp_path: Path, base: str) -> None:
    values = ("alerts.configMap.enabled=true", "alerts.prometheusRule.enabled=true", f"alerts.runbookBaseUrl={base}")
    found = rendered(*values, options=("--api-versions", "monitoring.coreos.com/v1"))
    (held,) = (one for one in found if one["kind"] == "ConfigMap" and "tandem.rules.yaml" in one["data"])
    (rule,) = (one for one in found if one["kind"] == "PrometheusRule")
    target = tmp_path / "tandem.rules.yaml"
    target.write_text(held["data"]["tandem.rules.yaml"])
    groups = read(target)

    run(["promtool", "check", "rules", str(target)])
    assert rule["spec"] == groups
    prefix = f"{base}/" if base else ""
    expected = {rule["alert"]: rule for rule in map(read, alert_files())}
    for alert in expected.values():
        alert["annotations"]["runbook_url"] = prefix + alert["annotations"]["runbook_url"]
    rules = [rule for group in groups["groups"] for rule in group["rules"]]
    assert {rule["alert"]: rule for rule in rules if "alert" in rule} == expected
    recorded = sorted(rule["record"] for rule in rules if "record" in rule)
    assert recorded == sorted(read(path)["record"] for path in (ALERTS.parent / "recording").glob("*.yaml"))


FILE: Final = ("ConfigMap", "tandem-alerts")
RULE: Final = ("PrometheusRule", "tandem")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((), [FILE]),
        (("rbac.namespaced=true",), [FILE]),
        (("metrics.serviceMonitor.enabled=true",), [RULE]),
        (("alerts.prometheusRule.enabled=true",), [RULE]),
        (("alerts.prometheusRule.enabled=true", "alerts.configMap.enabled=true"), [RULE, FILE]),
        (("metrics.serviceMonitor.enabled=true", "alerts.prometheusRule.enabled=false"), [FILE]),
        (("alerts.configMap.enabled=false",), []),
    ],
    ids=lambda given: " ".join(map(str, given)) or "default",
)
def test_the_alerts_come_by_default_and_in_one_way(values: tuple[str, ...], expected: list[tuple[str, str]]) -> None:
    found = rendered(*values, options=("--api-versions", "monitoring.coreos.com/v1"))
    named = [(one["kind"], one["metadata"]["name"]) for one in found]

    assert [one for one in (RULE, FILE) if one in named] == expected


def test_without_the_prometheus_operator_the_alerts_come_too() -> None:
    assert FILE in [(one["kind"], one["metadata"]["name"]) for one in rendered()]


class Prometheus:
    """A Prometheus of the test's own, that scrapes the pods by their addresses."""

    def __init__(self, folder: Path, config: str) -> None:
        (port,) = free_ports(1)
        (folder / "prometheus.yml").write_text(config)
        self.url = f"http://127.0.0.1:{port}"
        program = shutil.which("prometheus")
        assert program is not None, "prometheus is missing: apt-get install prometheus"
        options = (f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}")
        command = Command((program, *options, f"--web.listen-address=127.0.0.1:{port}"), folder / "prometheus.log")
        self.process = ChildProcess("prometheus", command)

    def finds(self, query: str) -> bool:
        """Whether a query has an answer that is not empty."""
        found = self._ask("query", query=query)
        return bool(found and found["result"])

    def offers(self, choice: Choice) -> list[str]:
        """The values among which a dashboard's variable lets one choose; none as long as Prometheus does not answer."""
        return self._ask(f"label/{choice.label}/values", **{"match[]": choice.series}) or []

    def _ask(self, path: str, **parameters: str) -> Any:
        try:
            asked = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
            with urllib.request.urlopen(asked, timeout=10) as answer:  # noqa: S310 - our own Prometheus
                return json.load(answer)["data"]
        except OSError:
            return None


def targets(job: ClusterJob, system: str) -> list[tuple[str, str]]:
    """Address and pod of everything that serves metrics: replicas, orderers, the operator."""
    pods = [(pod["status"]["podIP"], pod["metadata"]["name"]) for pod in job.pods()]
    (operator,) = Kubectl(system).list("pods", OPERATOR)
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
    return json.dumps({"global": {"scrape_interval": f"{SCRAPE_S}s"}, "scrape_configs": jobs})


def test_every_query_of_the_dashboards_finds_something(pair: ClusterJob, tandem: str, tmp_path: Path) -> None:
    job = pair
    job.when_staffed(1, 1)
    variables = {"namespace": job.kubectl.namespace, "job_name": job.name, "lane": ".*", "__rate_interval": "30s"}
    asked = [(name, *query) for name, text in texts().items() for query in queries(json.loads(text))]
    empty = {(name, title, filled_in(query, variables)) for name, title, query in asked}
    unoffered = {
        replace(choice, series=filled_in(choice.series, variables))
        for text in texts().values()
        for choice in choices(json.loads(text))
        if choice.label != "lane"  # which a job without lanes does not offer
    }
    prometheus = Prometheus(tmp_path, config(job, tandem))

    def all_found() -> bool:
        empty.difference_update([one for one in empty if prometheus.finds(one[2])])
        offered = [one for one in unoffered if variables[one.variable] in prometheus.offers(one)]
        unoffered.difference_update(offered)
        return not empty and not unoffered

    try:
        assert wait_until(all_found, Deadline(120), 1.0), f"nothing is found by: {sorted(empty)}, {unoffered}"
    finally:
        prometheus.process.stop()
