"""Waiting for the executors of a replica, and saying why they do not come."""

import json
import ssl
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, Final
from urllib.parse import quote

from pyspark.sql import SparkSession

from tandem.engine.executors import Executors
from tandem.logs import get_logger
from tandem.process.info import RefusedError
from tandem.waiting import Deadline, wait_until

_log = get_logger(__name__)

REGISTERED_S: Final = 300.0
"""For a node that has to unpack the image first."""
_END_S: Final = 5.0
_CALL_S: Final = 5.0
_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_POLL_S: Final = 0.1


def registered(session: SparkSession) -> int:
    """How many executors can be given tasks now."""
    known: Any = session.sparkContext._jsc.sc().getExecutorMemoryStatus()
    return int(known.size()) - 1  # the driver is one of them


def await_executors(session: SparkSession, executors: Executors, timeout_s: float = REGISTERED_S) -> None:
    """Wait until all executors have registered; with some of them the replica begins, and Spark adds the others.

    Raises `RefusedError`: None has registered in time; says what their pods say.
    """
    if wait_until(lambda: registered(session) >= executors.count, Deadline(timeout_s), _POLL_S):
        return
    found, why = registered(session), "; ".join(_pods_say(session, executors))
    if found:
        _log.warning("executors_missing", registered=found, wanted=executors.count, reason=why)
        return
    raise RefusedError(
        f"none of the {executors.count} executors of this replica has registered within {timeout_s:.0f} s. "
        f"{why or 'There is no pod of any: the account of this pod must be allowed to manage pods'}. An executor needs "
        "a node without pods of another replica of the job, and spec.executors.memory and its overhead free on it. Add a "
        "node, ask for less, or set spec.executors.instances: 0"
    )


def end(session: SparkSession) -> None:
    """Let the executors go, and wait for that a little: if this process ends first, they go with its pod."""

    def stop() -> None:
        with suppress(Exception):
            session.stop()

    thread = Thread(target=stop, name="end-of-executors", daemon=True)
    thread.start()
    thread.join(_END_S)


def _pods_say(session: SparkSession, executors: Executors) -> list[str]:
    """What Kubernetes says of the executors' pods; if it does not answer, that."""
    namespace = executors.given.get("spark.kubernetes.namespace")
    if namespace is None:
        return []
    labels = quote(f"spark-app-selector={session.sparkContext.applicationId}")
    url = f"{executors.master.removeprefix('k8s://')}/api/v1/namespaces/{namespace}/pods?labelSelector={labels}"
    try:
        token = (_ACCOUNT / "token").read_text()
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})  # noqa: S310
        context = ssl.create_default_context(cafile=str(_ACCOUNT / "ca.crt"))
        with urllib.request.urlopen(request, timeout=_CALL_S, context=context) as answer:  # noqa: S310
            return list(said_of(json.load(answer)))
    except (OSError, ValueError) as error:
        return [f"Kubernetes does not tell about their pods: {error}"]


def said_of(pods: Mapping[str, Any]) -> Iterator[str]:
    """Of each pod in a list as the API has it: its name, its phase, and why it does not run."""
    for pod in pods["items"]:
        status = pod.get("status", {})
        states = [one.get("state", {}) for one in status.get("containerStatuses", ())]
        waits = [condition for condition in status.get("conditions", ()) if condition["status"] == "False"]
        reasons = [state.get("waiting") or state.get("terminated") or {} for state in states]
        texts = [text for one in (*reasons, *waits) if (text := one.get("message") or one.get("reason", ""))]
        yield ": ".join([pod["metadata"]["name"], status.get("phase", "Unknown"), *texts[:1]])
