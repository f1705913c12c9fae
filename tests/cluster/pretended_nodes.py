"""Nodes of KWOK, which only pretend: a pod that tolerates everything is Running and Ready there, and costs nothing.

Takes kube-lab, whose command KUBE_LAB names.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

from kubernetes import client, config

from cluster.kubernetes import CALL_S, run

PRETENDED: Final = {"spec": {"nodeSelector": {"type": "kwok"}, "tolerations": [{"operator": "Exists"}]}}
"""A template for pods that run there."""
_BEATS_S: Final = 2.0
"""KWOK lets its nodes be heard of every 10 s, and the lab takes a node for dead after 8 s."""


@contextmanager
def pretended_nodes(count: int) -> Iterator[None]:
    """So many nodes, of 110 pods each, while the block runs."""
    lab = os.environ["KUBE_LAB"]
    run([lab, "install", "--kwok"], timeout_s=900)
    run([lab, "kwok", str(count)], timeout_s=120)
    ended = threading.Event()
    beating = threading.Thread(target=_beat, args=([f"kwok-{node + 1}" for node in range(count)], ended))
    beating.start()
    try:
        yield
    finally:
        ended.set()
        beating.join()
        run(["kubectl", "delete", "node", "--selector", "type=kwok"])


def _beat(nodes: Sequence[str], ended: threading.Event) -> None:
    with config.new_client_from_config() as connection:
        leases = client.CoordinationV1Api(connection)
        while not ended.wait(_BEATS_S):
            beat = {"spec": {"renewTime": datetime.now(UTC).isoformat(timespec="microseconds")}}
            for node in nodes:
                leases.patch_namespaced_lease(node, "kube-node-lease", beat, _request_timeout=CALL_S)
