"""The switches of the machine room. Only with kube-lab, whose nodes and control plane are processes of this machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil

from cluster.kubernetes import Object, RefusedError, run

_MACHINE: Final = 1024
"""The weight that the kernel gives to each session of processes (autogroup), such as the broker's."""


class Lab:
    """Nodes are powered off and on, added and removed, cables cut and healed, containers killed, the API server stopped."""

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
        """Plug it in again, and wait until the node is Ready."""
        self._node("heal", node)
        run(["kubectl", "wait", "--for=condition=Ready", f"node/{node}", "--timeout=90s"], timeout_s=100)

    def add(self, node: str) -> None:
        """Power on a node that is not there yet (`n4`). First it takes in the images."""
        try:
            self.up(node)
        except RefusedError:  # kube-lab waits for a minute, and a slow disk takes longer; then it goes on waiting
            self.up(node)

    def remove(self, node: str) -> None:
        """Take a node that was added out of the cluster again; what runs on it moves away first."""
        drain = ("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=180s")
        run(["kubectl", *drain], timeout_s=200)
        self.kill(node)
        run(["kubectl", "delete", "node", node])

    def runs(self, pod: Object) -> bool:
        """Whether anything of a pod runs on its node, whatever the API server knows of it."""
        mine = f'labels."io.kubernetes.pod.uid"=="{pod["metadata"]["uid"]}"'
        ctr, node = ("ctr", "--namespace", "k8s.io"), pod["spec"]["nodeName"]
        containers = self._node("exec", node, *ctr, "containers", "ls", "--quiet", mine).split()
        return not set(containers).isdisjoint(self._node("exec", node, *ctr, "tasks", "ls", "--quiet").split())

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

    @contextmanager
    def weighing_as_machines(self) -> Iterator[None]:
        """While the block runs, each node has as much say over the machine's cores as the broker or the API server.

        Else all nodes and their pods together have as much as one of these: whoever serves, watches or reads then takes
        from pods the cores that they asked for, which it cannot where nodes are machines.
        """
        nodes = Path("/sys/fs/cgroup/cpu/kube-lab")
        shares = nodes / "cpu.shares"
        before = shares.read_text()
        shares.write_text(str(_MACHINE * len(list(nodes.glob("n*")))))
        try:
            yield
        finally:
            shares.write_text(before)

    def build(self, image: str, folder: Path) -> None:
        """Build the image of `folder`'s Dockerfile, and load it into every node."""
        run([self._command, "build", "-t", image, str(folder)], timeout_s=300)
        run([self._command, "load", image], timeout_s=300)

    def _node(self, verb: str, node: str, *command: str) -> str:
        return run([self._command, "node", verb, node.removeprefix("n"), *command], timeout_s=200)
