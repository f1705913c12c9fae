"""How the job's own topics differ from what they should be, as its replicas have found."""

from __future__ import annotations

from typing import Final

from tandem_operator.observed import Observed
from tandem_operator.status import Status, TopicDifference

Drift = tuple[TopicDifference, ...]

MOST: Final = 32
"""So many differences are shown."""


def drift_of(observed: Observed, old: Status) -> Drift | None:
    """What any of the replicas has found; if none has looked yet, what was known; None: nothing is.

    In mode none each replica has logs of its own: so all of them count.
    """
    reports = [pod.reported for pod in observed.pods if pod.reported is not None and not pod.is_gone]
    looked = [report.drift for report in reports if report.drift is not None]
    if looked:
        found = {
            TopicDifference(topic=one.topic[:256], difference=one.difference[:1024], remedy=one.remedy[:1024])
            for drift in looked
            for one in drift
        }
        return tuple(sorted(found, key=lambda one: (one.topic, one.difference))[:MOST])
    is_known = any(one.type == "TopicsAsDeclared" and one.status != "Unknown" for one in old.conditions)
    return old.topic_drift if is_known else None


def in_words(one: TopicDifference) -> str:
    """A difference and its remedy, without a stop at the end: a command may end it."""
    return f"{one.topic}: {one.difference}. {one.remedy}"
