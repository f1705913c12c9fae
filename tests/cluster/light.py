"""A job that costs a cluster next to nothing: it has objects and pods, but no node is good for these, so no JVM starts."""

from __future__ import annotations

from dataclasses import dataclass

from cluster.crd_base import Overrides, manifest
from cluster.kubernetes import Kubectl, Object

_NOWHERE = {"spec": {"nodeSelector": {"tandem.dev/no-such-node": "true"}}}
OWNED = (
    "pods,configmaps,services,serviceaccounts,poddisruptionbudgets,networkpolicies,"
    "controllerrevisions,roles,rolebindings"
)
"""The kinds of all that the operator makes for a job."""


@dataclass(frozen=True)
class LightJob:
    """Such a job in a namespace."""

    kubectl: Kubectl
    name: str = "light"

    @property
    def manifest(self) -> Object:
        return self.changed({})

    def changed(self, overrides: Overrides) -> Object:
        """The manifest with some values replaced."""
        own = {"metadata.name": self.name, "spec.suspend": False, "spec.podTemplate": _NOWHERE}
        return manifest(own, overrides)

    @property
    def generation(self) -> int:
        found: int = self.kubectl.get("rsj", self.name)["metadata"]["generation"]
        return found

    def pods(self) -> dict[str, str]:
        """Name → uid."""
        return {name: uid for (kind, name), uid in self.objects().items() if kind == "Pod"}

    def objects(self) -> dict[tuple[str, str], str]:
        """Everything that the job owns: kind and name → uid."""
        found = self.kubectl.list(OWNED, f"tandem.dev/job={self.name}")
        return {(one["kind"], one["metadata"]["name"]): one["metadata"]["uid"] for one in found}

    def when_manned(self) -> None:
        """Wait until the operator has made both pods and told so."""

        def manned() -> bool:
            return len(self.pods()) == 2 and "status" in self.kubectl.get("rsj", self.name)

        self.kubectl.wait(manned, 60, f"{self.name} has its pods")

    def when_a_lost_pod_is_replaced(self) -> None:
        """Delete a pod, and wait for its successor: the operator looks after the job. All else must stay."""
        before = self.objects()
        lost = min(self.pods())
        self.kubectl("delete", "pod", lost)
        self.kubectl.wait(lambda: len(self.pods().keys() - {lost}) == 2, 60, f"{lost} is replaced")
        now = self.objects()
        assert before.items() - now.items() == {(("Pod", lost), before["Pod", lost])}
