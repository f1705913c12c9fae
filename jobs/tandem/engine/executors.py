"""Executors: processes of their own in which a replica's Spark computes. The replica is their driver then.

Who starts the replica says so in its environment. On Kubernetes the operator does, and the executors are pods of the
driver's own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tandem.listening import in_brackets

CONF: Final = "TANDEM_SPARK_CONF"
"""Variable: settings of Spark as a JSON object, among them `spark.master` and `spark.executor.instances`."""
POD: Final = "TANDEM_EXECUTOR_POD"
"""Variable: what an executor's pod is made from, as JSON. Missing where executors are no pods."""

_PREFIX: Final = "spark.kubernetes.executor.podNamePrefix"
_HOST: Final = "spark.driver.host"
_TEMPLATE: Final = "spark.kubernetes.executor.podTemplateFile"

EXECUTOR_DEFAULTS: Final = {
    # A lost executor is missed by heartbeats alone if its machine is gone; Spark's own patience is two minutes.
    "spark.executor.heartbeatInterval": "2s",
    "spark.network.timeout": "30s",
    "spark.network.timeoutInterval": "5s",
    # And an executor whose driver's machine is gone ends soon.
    "spark.executor.heartbeat.maxFailures": "15",
    # Only what failed of late may stop the application: a job runs for months.
    "spark.executor.failuresValidityInterval": "10min",
    # Python's processes, the state store and what is shuffled are beside the heap: Spark's own factor for Python.
    "spark.executor.memoryOverheadFactor": "0.4",
    # They log as little as their driver.
    "spark.executor.syncLogLevel.enabled": "true",
    # An epoch's records are in its tasks.
    "spark.rpc.message.maxSize": "1024",
    # The driver lists a table's files by name; executors would list folders as their disks do.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": str(2**31 - 1),
}
"""What a job may set otherwise in `spec.spark.conf`."""


@dataclass(frozen=True, slots=True)
class Executors:
    """What a replica was given to compute on.

    `master` : Spark's name of who starts executors, e.g. `k8s://https://…`.
    `count` : how many there are to be.
    `given` : settings of Spark that are laid over all others.
    `pod` : what their pods are made from, as JSON; "": they are no pods.
    """

    master: str
    count: int
    given: Mapping[str, str]
    pod: str = ""

    @classmethod
    def of(cls, environment: Mapping[str, str], incarnation: str) -> Executors | None:
        """What the environment says; None: the replica computes in its own process."""
        if CONF not in environment:
            return None
        given: dict[str, str] = json.loads(environment[CONF])
        if _PREFIX in given:
            # A container that is started again finds the executors of its last run still there, in the same pod's name.
            given[_PREFIX] += f"-{incarnation.rpartition('.')[2]}"
        if _HOST in given:
            given[_HOST] = in_brackets(given[_HOST])  # Spark takes an IPv6 address so and not otherwise
        master, count = given.pop("spark.master"), int(given["spark.executor.instances"])
        return cls(master, count, given, environment.get(POD, ""))

    def settings(self, file_system_jar: Path, java_options: str, python_path: str, scratch: Path) -> dict[str, str]:
        """The settings of Spark that replace others. Writes the pods' template into `scratch`.

        Executors need what the driver has: the checkpoint's file system, and the job's code.
        """
        settings = {
            "spark.executor.extraClassPath": str(file_system_jar),
            "spark.executor.extraJavaOptions": java_options,
            "spark.executorEnv.PYTHONPATH": python_path,
            **self.given,
        }
        if self.pod:
            template = scratch / "executor.json"
            template.write_text(self.pod)
            settings[_TEMPLATE] = str(template)
        return settings
