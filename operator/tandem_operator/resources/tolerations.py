"""How long a pod stays bound to a node that is gone."""

from __future__ import annotations

from typing import Any, Final

_LOST_NODE_S: Final = 5


def lost_node() -> list[dict[str, Any]]:
    """Tolerations: a node that is not ready, or cannot be reached, is given up soon."""
    return [
        {
            "key": f"node.kubernetes.io/{taint}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": _LOST_NODE_S,
        }
        for taint in ("not-ready", "unreachable")
    ]
