"""kubectl, helm and the like as calls; objects as plain mappings. Every call and every wait has a deadline."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from tandem.waiting import Deadline, wait_until

Object = dict[str, Any]
CALL_S: Final = 60.0
_NOT_SENT: Final = (
    "net/http: TLS handshake timeout",
    "Unable to connect to the server: dial tcp",
    "was refused - did you specify the right host",
)
"""So kubectl says that its request has not reached the API server: it may be made again, whatever it is."""
_PASSING: Final = (
    *_NOT_SENT,
    *("i/o timeout", "unexpected EOF", "connection reset by peer", "http2: client connection lost"),
    *("etcdserver: request timed out", "unable to return a response in the time allotted", "ServiceUnavailable"),
)
"""What passes by itself: a look may be repeated."""
_EVERYWHERE: Final = {"configmap/kube-root-ca.crt", "serviceaccount/default"}


class RefusedError(Exception):
    """A command ended with an error; the text is what it said."""


def run(arguments: Sequence[str], given: str = "", timeout_s: float = CALL_S) -> str:
    """Standard output of a command; kubectl's is made again if it did not reach the API server. Raises `RefusedError`."""
    deadline = Deadline(timeout_s)
    while True:
        left_s = max(1.0, deadline.remaining_s)
        done = subprocess.run(arguments, input=given, capture_output=True, text=True, timeout=left_s, check=False)
        if not done.returncode:
            return done.stdout
        said = (done.stderr or done.stdout).strip()
        is_lost = arguments[0] == "kubectl" and any(words in said for words in _NOT_SENT)
        if deadline.passed or not is_lost:
            raise RefusedError(said)
        time.sleep(1.0)


def holds(thing: Object, condition: str) -> bool:
    """Whether a condition of an object, such as Ready of a pod or a node, is true.

    An object that was just created may have no status, or a null in it: a CRD has `conditions: null` at first.
    """
    conditions = (thing.get("status") or {}).get("conditions") or ()
    return any(one["type"] == condition and one["status"] == "True" for one in conditions)


def restarts(pod: Object, container: str = "") -> int:
    """How often a container of a pod was started again; "": all of them together."""
    told = pod["status"].get("containerStatuses", ())
    return sum(one["restartCount"] for one in told if container in ("", one["name"]))


def service(name: str, port: int, address: str) -> list[Object]:
    """A Service for a server outside the cluster, as Kubernetes' docs have it (Services without selectors)."""
    host, _, target = address.rpartition(":")
    spec = {"ports": [{"port": port, "targetPort": int(target)}]}
    return [
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec},
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}},
            "addressType": "IPv4",
            "ports": [{"port": int(target)}],
            "endpoints": [{"addresses": [host]}],
        },
    ]


@dataclass(frozen=True)
class Kubectl:
    """kubectl in one namespace of the cluster that KUBECONFIG names.

    `every_s`: how often a wait looks. A look starts kubectl several times, which costs a tenth of a core's second each.
    """

    namespace: str
    every_s: float = 0.25

    def __call__(self, *arguments: str, given: str = "", timeout_s: float = CALL_S) -> str:
        return run(["kubectl", "--namespace", self.namespace, *arguments], given, timeout_s)

    def apply(self, *objects: Mapping[str, Any], server_side: bool = False) -> str:
        """Apply objects. Raises `RefusedError` with what the API server says against them."""
        listed = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        return self("apply", *(["--server-side"] if server_side else []), "-f", "-", given=json.dumps(listed))

    def send(self, verb: str, thing: Mapping[str, Any], *options: str) -> str:
        """Create or replace one object. Raises `RefusedError` with what the API server says against it."""
        return self(verb, *options, "-f", "-", given=json.dumps(thing))

    def get(self, kind: str, name: str) -> Object:
        """An object; {} if there is none."""
        text = self("get", kind, name, "-o", "json", "--ignore-not-found")
        found: Object = json.loads(text) if text else {}
        return found

    def list(self, kind: str, selector: str = "") -> list[Object]:
        """Objects with these labels."""
        found: list[Object] = json.loads(self("get", kind, "-l", selector, "-o", "json"))["items"]
        return found

    def everything(self) -> set[str]:
        """All that was made in the namespace, as kind/name: not events, nor what Kubernetes makes in each namespace."""
        kinds = run(["kubectl", "api-resources", "--namespaced", "--verbs=list", "--output=name"]).split()
        wanted = ",".join(kind for kind in kinds if kind.partition(".")[0] != "events")
        return set(self("get", wanted, "--output=name").split()) - _EVERYWHERE

    @contextmanager
    def meanwhile(self, *arguments: str) -> Iterator[Sequence[str]]:
        """kubectl runs beside the block, and ends well soon after it; then the list holds the lines that it wrote.

        Raises `RefusedError`.
        """
        said: list[str] = []
        command = ["kubectl", "--namespace", self.namespace, *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            try:
                yield said
                text, _ = process.communicate(timeout=CALL_S)
            finally:
                process.kill()
        if process.returncode:
            raise RefusedError(text.strip())
        said += text.splitlines()

    def wait(self, condition: Callable[[], bool], deadline_s: float, what: str) -> None:
        """Wait for something that the cluster brings about; if it does not come, fail with what there is.

        A look that the API server did not answer is made again.
        """

        def holds_now() -> bool:
            try:
                return condition()
            except RefusedError as error:
                if not any(words in str(error) for words in _PASSING):
                    raise
                return False

        if not wait_until(holds_now, Deadline(deadline_s), self.every_s):
            raise AssertionError(f"not within {deadline_s:.0f} s: {what}\n{self.story()}")

    def story(self) -> str:
        """What there is, for messages."""
        told = []
        for arguments in (
            ("get", "rsj,pods", "-o", "wide"),
            ("get", "events", "--sort-by=.lastTimestamp"),
            ("logs", "-l", "app.kubernetes.io/name=tandem", "--all-containers", "--prefix", "--tail", "15"),
        ):
            try:
                told.append(self(*arguments))
            except (RefusedError, subprocess.TimeoutExpired) as error:
                told.append(str(error))
        return "\n".join(told)
