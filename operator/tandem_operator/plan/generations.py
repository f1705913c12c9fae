"""A change of what the job computes: its next generation starts beside the members, and takes over by itself.

1. All members are at the head, and a savepoint is made: a task names the newest snapshot. Or the spec names an older one.
2. Candidates start from it, with the changed job: as many as there shall be active replicas. They publish nothing.
3. The first one that is at the head proposes its configuration to the ordering log, whose entry is the boundary between the
   generations (`tandem.protocol.succession`): that needs no operator.
4. The members of the old generation end. They are replaced like those of any older version, while the candidates publish.
5. When all members are at the head, the candidates go, one by one.

A job whose members all refuse to run, as after an error of its code, cannot be at the head: 1 is left out. Its savepoint is
of the newest snapshot; without any, candidates begin with no state, and compute it from the inputs where the job has some.

A job that has never been seen to work has no generation to keep: its members themselves begin the next one, see `version`.

Until 3, whatever goes wrong changes nothing for the reader: the candidates go, and the status says why. A member is never
touched before. Candidates are given up only while all members work and no candidate is at the head: so not after 3, should
the operator be blind to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from tandem.manifest import ReplicatedStreamJob
from tandem.process.ending import EndKind
from tandem_operator.actions import Action, CreatePod, DeletePod
from tandem_operator.observed import Component, Observed, PodPhase, PodSeen
from tandem_operator.plan.failures import failure, has_hope, is_stopped, may_work
from tandem_operator.plan.figures import published_epoch
from tandem_operator.plan.members import failed_at_once, garbage_collect_pods, next_name
from tandem_operator.plan.roster import Roster
from tandem_operator.plan.times import read_ms, written
from tandem_operator.plan.upgrade_savepoint import newest_try, try_of
from tandem_operator.plan.version import Version
from tandem_operator.resources.candidates import candidate
from tandem_operator.resources.names import hash_of
from tandem_operator.resources.settings import Settings
from tandem_operator.status import Status, Upgrade

_NOTHING_YET: Final = (
    "it begins with a savepoint, and the job has published nothing yet. It begins by itself after the first epochs; to have "
    "it at once, delete the job with spec.deletionPolicy: Delete and apply the changed one"
)
_STOPPED: Final = (
    "The job stands still, since every replica refuses to run. The next generation begins where the job stopped; if it "
    "keeps state, it computes that from its inputs first"
)
_NO_SNAPSHOT: Final = "there is no snapshot"
"""In the words of a task that found none."""
_OUTDATED: Final = "it is a candidate for a generation that is no longer requested"
_DONE: Final = "its generation has all its pods"
_AWAY_MS: Final = 300_000
"""After so long without a status that was written, no operator was there: it is written much more often."""


@dataclass(frozen=True, slots=True)
class Step:
    """What an upgrade does in this pass. `upgrade`: what is to be remembered; `says`: how it stands, in a reason and words.

    `failure` : why it is given up; `needs`: why it cannot begin. "": nothing to be said.
    `keeps` : a task whose outcome is not in the status yet.
    """

    actions: tuple[Action, ...] = ()
    upgrade: Upgrade | None = None
    says: tuple[str, str] | None = None
    failure: str = ""
    needs: str = ""
    keeps: str = ""


def candidates_of(observed: Observed) -> tuple[PodSeen, ...]:
    """Those that are not gone."""
    return tuple(pod for pod in observed.pods if pod.component is Component.CANDIDATE and not pod.is_gone)


def gone_candidates(observed: Observed, version: Version, roster: Roster) -> tuple[Action, ...]:
    """Removes those that ended or are lost.

    Of a generation that has begun they may be the only ones that publish, until the members work: so long those on lost
    nodes stay, since what is broken may be the operator's view; or until Kubernetes itself gives them up.
    """
    candidates = (pod for pod in observed.pods if pod.component is Component.CANDIDATE and may_work(pod))
    begun = any(_has_begun(pod, version) for pod in candidates)
    return garbage_collect_pods(observed, Component.CANDIDATE, not begun or _is_whole(roster))


def step(
    observed: Observed, spec_job: ReplicatedStreamJob, settings: Settings, version: Version, roster: Roster, old: Status
) -> Step:
    """The next step; nothing if there is no other generation to be begun or to be completed."""
    known = old.upgrade if old.upgrade and old.upgrade.revision == version.revision else None
    if version.is_held and not spec_job.spec.suspend:
        stopped, has_published = is_stopped(observed), published_epoch(observed, old.epoch) != -1
        needs = _needs(spec_job, version, old, stopped)
        if not needs and known is None and not has_published and not stopped:
            needs = _NOTHING_YET
        if needs:
            return Step(_ended(observed, version, roster), needs=needs)
        if known is None and stopped and not (has_published and spec_job.spec.snapshots and _takes_snapshots(version)):
            return _without_savepoint(version)
        if known is None or not known.saved:
            saved = _saved(observed, spec_job.spec.restore_from, settings, version, roster, known)
            return replace(saved, actions=(*_ended(observed, version, roster, version.revision), *saved.actions))
        return _tried(observed, spec_job, settings, version, roster, known, old)
    if (version.is_mended or version.accepts) and not spec_job.spec.suspend:
        unsaved = Upgrade(revision=version.revision, savepoint="", saved=True)
        return Step(_ended(observed, version, roster), upgrade=unsaved)
    if known is not None and version.accepted and not version.is_held and candidates_of(observed):
        return _completed(observed, roster, known)
    # Candidates of a job that is suspended have all their time when it goes on.
    paused = known.model_copy(update={"since": None}) if known is not None and version.is_held else None
    return Step(_ended(observed, version, roster), paused)


def _takes_snapshots(version: Version) -> bool:
    return version.fallback is not None and version.fallback.spec.snapshots is not None


def _without_savepoint(version: Version) -> Step:
    return Step(upgrade=Upgrade(revision=version.revision, savepoint="", saved=True), says=("CatchingUp", _STOPPED))


def _needs(job: ReplicatedStreamJob, version: Version, old: Status, stopped: bool) -> str:
    if old.revision is not None and old.revision.failed == version.revision:
        return "it failed"
    if version.fallback is None:
        return "no revision of the job that worked is known"
    if stopped:
        return ""
    if job.spec.snapshots is None:
        return "it begins with a savepoint, and the job takes no snapshots: add spec.snapshots"
    if not _takes_snapshots(version):
        return (
            "it begins with a savepoint, and what runs takes no snapshots yet. Apply spec.snapshots alone first, without "
            "what else was changed; when that is rolled out, apply the rest"
        )
    return ""


def _saved(
    observed: Observed, given: str | None, settings: Settings, version: Version, roster: Roster, known: Upgrade | None
) -> Step:
    """The savepoint's name is in the status before it is made; its task goes when it is there that it was.

    `given` : the savepoint that the spec names, None: one is made.
    """
    if known is None and given is not None:
        is_due = _is_whole(roster) or is_stopped(observed)
        begun = Upgrade(revision=version.revision, savepoint=given, saved=True) if is_due else None
        said = f"The spec asks for another configuration. Its generation starts from the savepoint {given}"
        return Step(upgrade=begun, says=("CatchingUp", said))
    says = (
        "SavingState",
        "The spec asks for another configuration. Its generation begins with a savepoint: it is made",
    )
    if known is None:
        name = f"upgrade-{observed.generation}-{hash_of([observed.uid], 6)}"
        return Step(upgrade=Upgrade(revision=version.revision, savepoint=name), says=says)
    newest = newest_try(observed, settings, known)
    there = newest.seen
    if there is None:
        is_due = _is_whole(roster) or is_stopped(observed)
        return Step((CreatePod(newest.task),) if is_due else (), known, says)
    says = (says[0], says[1] + newest.story(observed.now_ms))
    if not there.has_failed(observed.now_ms):
        done = known.model_copy(update={"saved": True, "savepoint": newest.name}) if there.has_ended else known
        return Step((), done, says, keeps=there.name)
    if is_stopped(observed) and _NO_SNAPSHOT in there.words:
        return _without_savepoint(version)
    if newest.is_last:
        return Step(
            failure=f"No savepoint could be created, tried {newest.number} times: {there.words}", keeps=there.name
        )
    again = newest.is_over(observed.now_ms) and (_is_whole(roster) or is_stopped(observed))
    made = (CreatePod(try_of(observed, settings, known, newest.number + 1).task),) if again else ()
    return Step(made, known, says, keeps=there.name)


def _is_whole(roster: Roster) -> bool:
    return len(roster.back) == roster.wanted and not any(member.outdated for member in roster.live)


def _tried(
    observed: Observed,
    job: ReplicatedStreamJob,
    settings: Settings,
    version: Version,
    roster: Roster,
    known: Upgrade,
    old: Status,
) -> Step:
    ours = [pod for pod in candidates_of(observed) if pod.generation == version.revision]
    deadline_s = job.spec.progress_deadline_seconds
    hopeless = [pod for pod in ours if not pod.ready and not has_hope(pod, observed.now_ms, deadline_s)]
    lost = (failure(pod, observed.now_ms, deadline_s) for pod in hopeless)
    known = _timed(observed, known, old)
    why = next((text for text in lost if text), "") or _ended_late(observed, known, deadline_s)
    is_shadow = not any(pod.ready or (pod.reported is not None and not pod.reported.candidate) for pod in ours)
    if why and is_shadow and (len(roster.back) == roster.wanted or is_stopped(observed)):
        return Step(failure=why)  # the candidates go when that is in the status: else another operator would try again
    rejected = (pod for pod in _all_of(observed, version.revision) if failed_at_once(pod, observed))
    taken = {pod.index for pod in (*ours, *rejected)}
    missing = [index for index in range(job.spec.replicas) if index not in taken]
    named = ((index, next_name(observed, old, Component.CANDIDATE, index)) for index in missing)
    made = tuple(
        CreatePod(candidate(job, observed.uid, settings, index, name, known.savepoint)) for index, name in named
    )
    ready = sum(pod.ready for pod in ours)
    present = "The present one does not publish" if is_stopped(observed) else "The present one publishes"
    words = f"{ready} of {job.spec.replicas} pods of the next generation have caught up. {present}"
    return Step((*_ended(observed, version, roster, version.revision), *made), known, ("CatchingUp", words))


def _timed(observed: Observed, known: Upgrade, old: Status) -> Upgrade:
    """`known` with the time since which its candidates are made: it begins again after a while without an operator."""
    is_measured = any(row.epoch is not None for row in old.members)  # else the time is not written again
    was_away = is_measured and observed.now_ms - read_ms(old.measured_at) > _AWAY_MS
    return known.model_copy(update={"since": written(observed.now_ms)}) if was_away or not known.since else known


def _ended_late(observed: Observed, known: Upgrade, deadline_s: float) -> str:
    """Why an upgrade whose pods end and are replaced, as where nodes reject them, has had its time; "": it has not.

    It has as long as one is there that was made in time: that one has a deadline of its own. And after the boundary there is
    no way back.
    """
    until_ms = read_ms(known.since) + int(deadline_s * 1000)
    if observed.now_ms <= until_ms or _is_past_the_boundary(observed):
        return ""
    candidates = _all_of(observed, known.revision)
    if any(not pod.is_gone and pod.created_ms <= until_ms for pod in candidates):
        return ""
    over = (pod for pod in candidates if pod.phase in (PodPhase.FAILED, PodPhase.SUCCEEDED))
    last = max(over, key=lambda pod: (pod.created_ms, pod.name), default=None)
    if last is None:
        return ""
    said = f": {last.message}" if last.message else ""
    return f"{last.replica} has not caught up after {deadline_s:.0f} s, and its last pod ended{said}"


def _is_past_the_boundary(observed: Observed) -> bool:
    """Whether the log may have the next generation, although no candidate says so: it has refused a member."""
    members = (pod for pod in observed.pods if pod.component is Component.MEMBER)
    return any(pod.end in (EndKind.OTHER_JOB, EndKind.SUPERSEDED) for pod in members)


def _all_of(observed: Observed, revision: str) -> list[PodSeen]:
    """The candidates of a revision, with those that are gone."""
    return [pod for pod in observed.pods if pod.component is Component.CANDIDATE and pod.generation == revision]


def _completed(observed: Observed, roster: Roster, known: Upgrade) -> Step:
    return Step(_handed_over(observed, roster, candidates_of(observed)), known)


def _ended(observed: Observed, version: Version, roster: Roster, but: str = "") -> tuple[Action, ...]:
    """All go `but` those of a revision: at once, except who has begun, which may be the only ones that publish."""
    others = [pod for pod in candidates_of(observed) if pod.generation != but]
    begun = [pod for pod in others if _has_begun(pod, version)]
    early = [pod for pod in others if pod not in begun]
    return (*_removed(early, _OUTDATED), *_handed_over(observed, roster, begun))


def _has_begun(pod: PodSeen, version: Version) -> bool:
    """Whether its generation is the one in force: an edit of the spec does not take that back."""
    says = pod.reported is not None and not pod.reported.candidate
    return says or bool(version.accepted and pod.config == version.accepted)


def _handed_over(observed: Observed, roster: Roster, pods: Sequence[PodSeen]) -> tuple[Action, ...]:
    """One by one, each while every member works and no other candidate is about to hand over."""
    leaving = any(pod.component is Component.CANDIDATE and pod.deleting for pod in observed.pods)
    if leaving or not _is_whole(roster):
        return ()
    return _removed(sorted(pods, key=lambda pod: -pod.index)[:1], _DONE)


def _removed(pods: Sequence[PodSeen], why: str) -> tuple[Action, ...]:
    return tuple(DeletePod(pod.name, pod.uid, why) for pod in pods)
