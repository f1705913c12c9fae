"""The switches of the machine room. Only with kube-lab, whose nodes and control plane are processes of this machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from cluster.kubernetes import Object, run


class Lab:
    """Nodes are powered off and on, cables cut and healed, containers killed, the API server is stopped."""

    def __init__(self) -> None:
        self._command = os.environ["KUBE_LAB"]

    def kill(self, node: str) -> None:
        """Power a node (`n1`) off."""
        self._node("kill", node)

    def up(self, node: str) -> None:
        """Power it on, and wait until it is Ready."""
        self._node("up", node)

    def cut(self, node: str) -> None:
        """Unplug its network cable; its pods go on, alone."""
        self._node("cut", node)

    def heal(self, node: str) -> None:
        """Plug it in again."""
        self._node("heal", node)

    def kill_container(self, pod: Object, name: str) -> None:
        """SIGKILL to the first process of a pod's container: neither the API server nor the kubelet is asked."""
        statuses = pod["status"]["containerStatuses"]
        (container,) = (one["containerID"].rpartition("/")[2] for one in statuses if one["name"] == name)
        kill = ("ctr", "--namespace", "k8s.io", "tasks", "kill", "--signal", "SIGKILL", container)
        self._node("exec", pod["spec"]["nodeName"], *kill)

    @contextmanager
    def without_api_server(self) -> Iterator[None]:
        """While the block runs, the API server answers nobody."""
        (server,) = (one for one in psutil.process_iter(["name"]) if one.info["name"] == "kube-apiserver")
        server.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            server.send_signal(signal.SIGCONT)

    def build(self, image: str, folder: Path) -> None:
        """Build the image of `folder`'s Dockerfile, and load it into every node."""
        run([self._command, "build", "-t", image, str(folder)], timeout_s=300)
        run([self._command, "load", image], timeout_s=300)

    def _node(self, verb: str, node: str, *command: str) -> None:
        run([self._command, "node", verb, node.removeprefix("n"), *command], timeout_s=120)
