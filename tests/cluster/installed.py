"""What helm installs: releases of the chart, what an account may do, and a while without the operator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cluster.kubernetes import Kubectl, RefusedError, holds, restarts, run

CHART: Final = Path(__file__).parents[2] / "helm" / "tandem"
OPERATOR: Final = "app.kubernetes.io/name=tandem-operator"
_WAITING: Final = ("--wait", "--timeout", "180s")


@dataclass(frozen=True)
class Release:
    """A release of the chart; each call waits until all is done. `user`: on whose behalf, "": whoever runs the tests."""

    name: str
    namespace: str
    user: str = ""

    def install(self, image: str, *options: str, chart: Path = CHART) -> None:
        repository, _, tag = image.rpartition(":")
        images = ("--set", f"image.repository={repository}", "--set", f"image.tag={tag}")
        self._helm("install", str(chart), *images, *options, *_WAITING)

    def upgrade(self, *options: str, chart: Path = CHART) -> None:
        self._helm("upgrade", str(chart), *options, *_WAITING)

    def rollback(self, revision: int) -> None:
        self._helm("rollback", str(revision), *_WAITING)

    def test(self) -> None:
        self._helm("test", "--timeout", "120s")

    def uninstall(self) -> None:
        self._helm("uninstall", *_WAITING)

    def _helm(self, verb: str, *arguments: str) -> None:
        on_behalf = ("--kube-as-user", self.user) if self.user else ()
        run(["helm", verb, self.name, *arguments, "--namespace", self.namespace, *on_behalf], timeout_s=240)


def may(account: str, what: str, namespace: str = "") -> bool:
    """Whether a user may do `what`, e.g. `patch pods/status`, in a namespace; "": in all of them."""
    verb, resource = what.split()
    resource, _, subresource = resource.partition("/")  # to kubectl, what follows a slash is a name
    more = [f"--subresource={subresource}"] if subresource else []
    where = ["--namespace", namespace] if namespace else ["--all-namespaces"]
    try:
        answer = run(["kubectl", "auth", "can-i", verb, resource, *more, "--as", account, *where])
    except RefusedError as refused:  # "no" is an exit code of 1
        answer = str(refused)
        if "rror" in answer or "Unable to connect" in answer or "was refused - did you" in answer:
            raise
    return answer.strip().startswith("yes")


def operator_restarts(tandem: str) -> dict[str, int]:
    """The operator's pods, and how often each was started again."""
    return {pod["metadata"]["name"]: restarts(pod) for pod in Kubectl(tandem).list("pods", OPERATOR)}


def crashed(tandem: str, before: Mapping[str, int]) -> list[str]:
    """The operator's pods that were started again since `before`. That one has another pod by now is no crash."""
    return [pod for pod, count in operator_restarts(tandem).items() if count > before.get(pod, 0)]


@contextmanager
def no_operator(tandem: str) -> Iterator[None]:
    """While the block runs, the operator of all namespaces is gone."""
    operator = Kubectl(tandem)
    operator("scale", "deployment/tandem", "--replicas=0")
    try:
        operator.wait(lambda: not operator.list("pods", OPERATOR), 60, "it is gone")
        yield
    finally:
        operator("scale", "deployment/tandem", "--replicas=1")
        operator("rollout", "status", "deployment/tandem", "--timeout=120s", timeout_s=130)


def operator_on(tandem: str, node: str) -> None:
    """Have the operator run on that node. It may leave it again."""
    operator = Kubectl(tandem)
    others = [other["metadata"]["name"] for other in operator.list("nodes") if other["metadata"]["name"] != node]

    def there() -> bool:
        pods = operator.list("pods", OPERATOR)
        return [pod["spec"].get("nodeName") for pod in pods] == [node] and holds(pods[0], "Ready")

    operator("cordon", *others)
    try:
        operator("delete", "pod", "-l", OPERATOR, "--field-selector", f"spec.nodeName!={node}")
        operator.wait(there, 60, f"the operator runs on {node}")
    finally:
        operator("uncordon", *others)
