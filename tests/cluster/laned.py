"""A job with lanes on the cluster, fed and read as a whole."""

from __future__ import annotations

from itertools import pairwise

from cluster.jobs import START_S, ClusterJob
from cluster.kubernetes import Kubectl, Object, holds
from integration.workload import Cluster


class Lanes(ClusterJob):
    """The whole job. Partition p of its input, and the numbers n with n mod `number` = p, are lane p's."""

    def __init__(self, kubectl: Kubectl, cluster: Cluster, name: str, applied_s: float, number: int = 2) -> None:
        super().__init__(kubectl, cluster, name, applied_s)
        self.number = number

    def lane(self, lane: int) -> Object:
        """The job of a lane, as it is."""
        found: Object = self.kubectl.get("rsj", f"{self.name}-lane-{lane}")
        return found

    def pods_of(self, lane: int) -> list[Object]:
        """The member pods of a lane that are not being deleted."""
        labels = f"tandem.dev/lanes-of={self.name},tandem.dev/lane={lane},app.kubernetes.io/component=member"
        return [pod for pod in self.kubectl.list("pods", labels) if "deletionTimestamp" not in pod["metadata"]]

    def publisher_of(self, lane: int) -> Object:
        """The pod of the replica that publishes a lane's rows, as the lane's status says."""
        publisher = self.lane(lane)["status"]["publisher"]
        (pod,) = (one for one in self.pods_of(lane) if f"-{publisher}-" in one["metadata"]["name"])
        return pod

    def when_all_ready(self) -> None:
        """Wait until each lane has two replicas at the head, and output flows."""

        def ready() -> bool:
            pods = [pod for lane in range(self.number) for pod in self.pods_of(lane)]
            is_manned = len(pods) == 2 * self.number and all(holds(pod, "Ready") for pod in pods)
            is_whole = self.status.get("lanes") == f"{self.number}/{self.number}"
            return is_whole and self.is_true("Replicated") and is_manned

        self.kubectl.wait(ready, 2 * START_S, f"{self.number} lanes are ready")
        self.flows_on(1)

    def longest_gap_of(self, lane: int, since: int) -> float:
        """The longest time, s, between two records of a lane among those that were read from the `since`-th on."""
        times = [at for value, at in self._read()[since:] if value % self.number == lane]
        return max(later - earlier for earlier, later in pairwise(times))

    def longest_gap_between(self, lane: int, start: float, end: float) -> float:
        """The longest time, s, without output of a lane between two times (`time.monotonic`)."""
        inside = [at for value, at in self._read() if value % self.number == lane and start <= at <= end]
        return max(later - earlier for earlier, later in pairwise([start, *inside, end]))

    def check_counts_grow(self) -> None:
        """The counts of each key, which are one lane's, come once and in order."""
        for key, counts in list(self.reader.counts.items()):
            assert list(counts) == sorted(set(counts)), f"the counts of {key} go back, or come twice"

    def _read(self) -> list[tuple[int, float]]:
        return list(zip(self.reader.copies, self.reader.times, strict=False))
