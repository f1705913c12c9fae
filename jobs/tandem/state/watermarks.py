"""The watermarks of several states, as that of one state that has seen what all of them have. Pure.

A watermark is the newest time that was seen, less a delay: of records that were seen in several lanes, the newest of all.
So what was late in its lane stays late, and a window that a lane has closed is never opened again.
"""

import json
from collections.abc import Sequence
from typing import Any


def latest_times(entries: Sequence[str], unseen: bool = False) -> str:
    """The second line of Spark's entries in `offsets`: the latest times, with the settings of the first.

    `unseen` : nothing has been seen yet.

    >>> latest_times(['{"batchWatermarkMs":5,"batchTimestampMs":9}', '{"batchWatermarkMs":7,"batchTimestampMs":8}'])
    '{"batchWatermarkMs":7,"batchTimestampMs":9}'
    """
    times = [json.loads(entry) for entry in entries]
    latest = {name: _most(times, name) for name in ("batchWatermarkMs", "batchTimestampMs")}
    return _dump({**times[0], **latest, **({"batchWatermarkMs": 0} if unseen else {})})


def latest_commit(entries: Sequence[str], unseen: bool = False) -> str:
    """The second line of Spark's entries in `commits`; `unseen`: nothing has been seen yet."""
    commits = [json.loads(entry) for entry in entries]
    return _dump({**commits[0], "nextBatchWatermarkMs": 0 if unseen else _most(commits, "nextBatchWatermarkMs")})


def latest_watermarks(notes: Sequence[str]) -> str:
    """What `Watermarks.java` writes of a query with several watermarks. All are of one plan, so of the same watermarks."""
    states = [json.loads(note) for note in notes]
    return _dump(
        {
            "watermarks": [
                {
                    "column": same[0]["column"],
                    "watermarkMs": _most(same, "watermarkMs"),
                    "rowMs": _most(same, "rowMs"),
                }
                for same in zip(*(state["watermarks"] for state in states), strict=True)
            ],
            "groups": [
                {"before": _most(same, "before"), "after": _most(same, "after")}
                for same in zip(*(state["groups"] for state in states), strict=True)
            ],
        }
    )


def _most(values: Sequence[dict[str, Any]], name: str) -> int | None:
    return max((value[name] for value in values if value.get(name) is not None), default=None)


def _dump(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"))
