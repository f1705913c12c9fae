"""Fake nodes, of KWOK: a pod that tolerates everything is Running and Ready there, and costs nothing.

Needs kube-lab, whose command KUBE_LAB names.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

from kubernetes import client, config

from cluster.kubernetes import CALL_S, Object, run

ON_FAKE_NODES: Final = {"spec": {"nodeSelector": {"type": "kwok"}, "tolerations": [{"operator": "Exists"}]}}
"""A template for pods that run there."""
_BEATS_S: Final = 2.0
"""The lab takes a node for dead after 8 s, and KWOK lets its nodes be heard of less often."""
_NAMESPACE: Final = "kube-node-lease"


@contextmanager
def fake_nodes(count: int) -> Iterator[None]:
    """So many nodes, of 110 pods each, while the block runs."""
    lab, nodes = os.environ["KUBE_LAB"], [f"kwok-{number + 1}" for number in range(count)]
    run([lab, "install", "--kwok"], timeout_s=900)
    run([lab, "kwok", str(count)], timeout_s=120)
    ended = threading.Event()
    beating = threading.Thread(target=_beat, args=(nodes, ended))
    beating.start()
    try:
        yield
    finally:
        ended.set()
        beating.join()
        run(["kubectl", "delete", "node", *nodes])


def _beat(nodes: Sequence[str], ended: threading.Event) -> None:
    """What a kubelet does with the lease of its node."""
    with config.new_client_from_config() as connection:
        leases = client.CoordinationV1Api(connection)
        for node in nodes:
            leases.create_namespaced_lease(_NAMESPACE, {"metadata": {"name": node}, **_renewed(node)})
        while not ended.wait(_BEATS_S):
            for node in nodes:
                leases.patch_namespaced_lease(node, _NAMESPACE, _renewed(node), _request_timeout=CALL_S)
        for node in nodes:
            leases.delete_namespaced_lease(node, _NAMESPACE)


def _renewed(node: str) -> Object:
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    return {"spec": {"holderIdentity": node, "leaseDurationSeconds": 40, "renewTime": now}}
