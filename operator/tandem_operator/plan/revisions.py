"""Which revision of a job works, and which does not: the one is kept, and the other is gone back from.

A revision works when all pods are made from it and do what they are there for. It does not when a pod that is made from it
computes other rows, ends again and again, or is not at the head within the job's deadline. That it was tried and failed is
written into the status before anything is done about it, and stays until the spec asks for another revision.
"""

from __future__ import annotations

from collections.abc import Iterator

from tandem_operator.actions import Action, Create, Delete
from tandem_operator.observed import Observed
from tandem_operator.plan.failures import failure, has_hope
from tandem_operator.plan.generators import is_without_a_beat, live_generators, wanted_generators
from tandem_operator.plan.good import good_revisions
from tandem_operator.plan.rollout import given_up
from tandem_operator.plan.roster import Roster
from tandem_operator.plan.times import read_ms
from tandem_operator.plan.version import Version
from tandem_operator.resources.revisions import KIND, revision
from tandem_operator.resources.settings import Settings
from tandem_operator.status import LONGEST_FAILURE, Revisions, Status


def judged(observed: Observed, version: Version, roster: Roster, old: Status, not_begun: str) -> Revisions:
    """What the status says of revisions: among them, which one failed, and how.

    `not_begun` : why the generation that the spec asks for was given up in this pass, "": it was not.
    """
    kept = good_revisions(observed.objects)
    now = Revisions(current=kept[-1].digest if kept else None, target=version.revision)
    if (
        old.revision is not None
        and old.revision.failed == version.revision
        and (version.is_rejected or version.is_held)
    ):
        return now.model_copy(update={"failed": old.revision.failed, "failure": old.revision.failure})
    if not_begun:
        return _failed(now, not_begun)
    deadline_s = observed.job.spec.progress_deadline_seconds
    silent = _silent_generator(observed, version, deadline_s) or _no_generator(observed, roster, old, deadline_s)
    why = given_up(roster, observed.now_ms, deadline_s) or silent
    if not why or version.fallback is None or version.is_held or observed.job.spec.suspend:
        return now
    return _failed(now, why)


def _failed(now: Revisions, why: str) -> Revisions:
    return now.model_copy(update={"failed": now.target, "failure": why.rstrip(". ")[:LONGEST_FAILURE]})


def _silent_generator(observed: Observed, version: Version, deadline_s: float) -> str:
    new = [pod for pod in live_generators(observed) if not pod.ready and not version.is_outdated(pod)]
    failures = (failure(p, observed.now_ms, deadline_s) for p in new if not has_hope(p, observed.now_ms, deadline_s))
    return next((text for text in failures if text), "")


def _no_generator(observed: Observed, roster: Roster, old: Status, deadline_s: float) -> str:
    """Why the members wait for generators that cannot be made, as with a quota that is used up; "" while there is hope.

    Since when, the conditions say, and the history: the job may have been suspended, or changed meanwhile.
    """
    missing = wanted_generators(observed) - len(live_generators(observed))
    is_awaited = any(member.outdated and member.is_back for member in roster.live)
    if missing <= 0 or not is_awaited or not is_without_a_beat(observed):
        return ""
    since = {one.type: read_ms(one.last_transition_time) for one in old.conditions if one.status == "False"}
    changed = [read_ms(one.time) for one in old.history if one.generation == observed.generation]
    if "OrderingAvailable" not in since or old.observed_generation != observed.generation:
        return ""
    if observed.now_ms - max(since["OrderingAvailable"], since.get("Suspended", 0), *changed) <= deadline_s * 1000:
        return ""
    return f"{missing} of {wanted_generators(observed)} generators are not there after {deadline_s:.0f} s"


def recorded(observed: Observed, settings: Settings, version: Version, roster: Roster) -> tuple[Action, ...]:
    """Keep the revision that the spec asks for, if it is seen to work, and not more of them than asked for."""
    kept, limit = good_revisions(observed.objects), observed.job.spec.revision_history_limit
    number = kept[-1].number if kept else 0
    is_new = limit > 0 and (not kept or kept[-1].digest != version.revision)
    if not is_new or not _works(observed, version, roster):
        return tuple(Delete(KIND, good.name, good.uid) for good in kept[: max(0, len(kept) - limit)])
    return (Create(revision(observed.job, observed.uid, settings, number + 1)),)


def _works(observed: Observed, version: Version, roster: Roster) -> bool:
    if observed.job.spec.suspend or version.is_rejected or version.is_held or roster.is_switching:
        return False
    return all(_signs(observed, version, roster))


def _signs(observed: Observed, version: Version, roster: Roster) -> Iterator[bool]:
    beating = [pod for pod in live_generators(observed) if pod.ready and not version.is_outdated(pod)]
    yield len(roster.live) == len(roster.back) == roster.wanted
    yield not any(member.outdated for member in roster.live)
    yield all(one.is_settled for member in roster.live for one in member.pod.beside)
    yield len(beating) == wanted_generators(observed)
