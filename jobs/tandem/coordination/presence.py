"""Whether a job's replicas are up, as far as ZooKeeper knows."""

from collections.abc import Mapping
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from tandem.coordination.handover import CONNECT_S
from tandem.coordination.slots import root_of
from tandem.coordination.zookeeper import Nodes
from tandem.protocol.switchover import replica_name
from tandem.waiting import Deadline, wait_until

_POLL_S = 0.25


def replicas_up(options: Mapping[str, Any], job: str, deadline: Deadline) -> tuple[str, ...]:
    """The replicas that are still up when the deadline has passed; it returns as soon as there is none.

    A replica that was killed is up until its session has expired. Raises `ZOOKEEPER_ERRORS`.
    """
    client = KazooClient(**options)
    there: list[str] = []
    try:
        client.start(CONNECT_S)
        nodes = Nodes(client, root_of(job))

        def none_is_up() -> bool:
            there[:] = _names(nodes)
            return not there

        wait_until(none_is_up, deadline, _POLL_S)
        return tuple(sorted(replica_name(incarnation) for incarnation in there))
    finally:
        client.stop()
        client.close()


def _names(nodes: Nodes) -> list[str]:
    try:
        return nodes.children("replicas")
    except NoNodeError:
        return []
