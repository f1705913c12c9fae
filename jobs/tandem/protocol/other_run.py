"""Whether a job that is about to begin its next generation evidently runs elsewhere, as the one before. Pure."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

QUIET_S: Final = 30.0
"""How long nothing of the generation before may have been published, once something was since this process began; and how
long one epoch must have been due before who is registered counts as stuck with it."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is seen of the generation before.

    `marker` : offset of its newest marker; −1: there is none. `owner`, `epoch`: of that one.
    `due` : the first epoch that is cut and not published; None: there is none.
    `registered` : its replicas, as ZooKeeper knows them; none where the job has no ZooKeeper, or it is away.
    """

    marker: int = -1
    owner: str = ""
    epoch: int = -1
    due: int | None = None
    registered: Collection[str] = ()


def other_run(start: Standing, now: Standing, quiet_s: float, due_s: float) -> str:
    """What shows that another run of the job goes on, in words; "": nothing does.

    `start` : what was seen when this process began. `quiet_s`: since when `now.marker` is the newest, s. `due_s`: for how
    long `now.due` was seen to be due, s.

    What was published before that counts for nothing: a job that was just stopped is not waited for. Nor does who is
    registered where one epoch has been due for long: a replica that is stuck with it does not go on. An epoch may take
    longer than a start, so that it was due from the beginning is not enough. One that was killed is registered until its
    session is over.

    >>> other_run(Standing(7, "x.replica-0.aa", 3), Standing(9, "x.replica-0.aa", 4), 2.0, 0.0)
    'x.replica-0.aa has published epoch 4 since this process began'
    """
    if now.marker > start.marker and quiet_s < QUIET_S:
        return f"{now.owner} has published epoch {now.epoch:,} since this process began"
    is_stuck = now.due is not None and due_s >= QUIET_S
    if now.registered and not is_stuck:
        return f"ZooKeeper knows {', '.join(now.registered)} of it"
    return ""
