"""What the plan says about a cluster in mind: the events of its passes, and why a job does not stand as it should."""

from __future__ import annotations

from tandem_operator.actions import Emit
from tandem_operator.plan import plan
from unit.operator.operator_builders import SETTINGS
from unit.operator.tiny_cluster import TinyCluster


def told(cluster: TinyCluster, steps: int) -> list[str]:
    """The reasons of all events of so many passes; somebody publishes, or could at once, in each."""
    reasons = []
    for _ in range(steps):
        actions = plan(cluster.observed(), SETTINGS)
        reasons += [action.reason for action in actions if isinstance(action, Emit)]
        cluster.do(actions)
        cluster.step()
        assert any(cluster.publishes(pod) for pod in cluster.pods.values()), cluster.story()
    return reasons


def progressing(cluster: TinyCluster) -> tuple[str, str, str]:
    """Status, reason and message of the condition Progressing."""
    found = next(one for one in cluster.status["conditions"] if one["type"] == "Progressing")
    return found["status"], found["reason"], found["message"]
