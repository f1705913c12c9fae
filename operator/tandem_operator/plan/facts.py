"""What is true of a job as a whole: the ground of its conditions, its phase and its events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tandem.process.ending import EndKind
from tandem_operator.observed import Observed, PodPhase
from tandem_operator.plan.blocked import blocked_reason, blocked_task
from tandem_operator.plan.failures import failure, failure_beside, has_diverged, refuses
from tandem_operator.plan.generations import Step, candidates_of
from tandem_operator.plan.generators import live_generators
from tandem_operator.plan.rollout import stalled
from tandem_operator.plan.roster import Member, MemberState, Roster
from tandem_operator.plan.version import Version, was_never_changed

_GOES_ON: Final = (
    "If no job of that name runs anywhere any more, and this one shall go on where it stopped, set spec.restartNonce"
)


@dataclass(frozen=True, slots=True)
class Facts:
    """Counts of members that do their work, as far as is known, and what goes wrong.

    `unprovable`: standbys whose state is as new as it can be, and nothing was published since to prove it with.
    `refused`, `failing`, `blocked`, `beside`, `stalled`, `failed`: in words, "": nothing; `blocked`: what a pod that may
    start yet waits for; `beside`: what fails beside a replica that works; `failed`: why the job is rolled back, or its
    next generation was given up.
    `upgrading` : how the next generation gets on, in a reason and words; `needs`: why it cannot begin.
    """

    active: int
    standby: int
    wanted_active: int
    wanted_standby: int
    verified: int
    unprovable: int
    unfit: str
    running: int
    beating: int
    unclear: bool
    rolling: bool
    held: bool
    diverged: tuple[str, ...]
    refused: str
    failing: str
    blocked: str
    beside: str
    stalled: str
    failed: str
    upgrading: tuple[str, str] | None
    needs: str


def facts_of(observed: Observed, roster: Roster, version: Version, failed: str, step: Step) -> Facts:
    """Look at everybody. `failed`: what became of the revision that the spec asks for, if the job is rolled back from it."""
    begun = [pod for pod in candidates_of(observed) if pod.ready and pod.config == version.accepted]
    spec, live = observed.job.spec, roster.live
    deadline_s = spec.progress_deadline_seconds
    shown = [shown_role(member, roster) for member in live]
    reports = [member.pod.reported for member in roster.standbys]
    failures = [failure(m.pod, observed.now_ms, deadline_s) for m in live if not m.is_back]
    waiting = [
        *(m.pod for m in live if not m.is_back),
        *(pod for pod in (*live_generators(observed), *candidates_of(observed)) if not pod.ready),
    ]
    beside = [failure_beside(m.pod, observed.now_ms) for m in live if m.is_back]
    return Facts(
        active=max(shown.count("active"), min(len(begun), spec.replicas)),
        standby=shown.count("standby"),
        wanted_active=spec.replicas,
        wanted_standby=spec.standbys,
        verified=sum(reported is not None and reported.verified_epoch >= 0 for reported in reports),
        unprovable=sum(r is not None and r.verified_epoch < 0 and not r.has_to_prove for r in reports),
        unfit=next((r.unfitness for r in reports if r is not None and r.unfitness), ""),
        running=sum(member.pod.phase is PodPhase.RUNNING for member in live),
        beating=sum(pod.ready for pod in live_generators(observed)),
        unclear=bool(roster.of(MemberState.UNKNOWN)),
        rolling=any(member.outdated for member in live)
        or bool(failed and not (version.is_rejected or version.is_held)),
        held=version.is_held,
        diverged=tuple(m.name for m in live if has_diverged(m.pod) and not m.is_back),
        refused=next((_refusal(m, observed) for m in live if refuses(m.pod, observed.now_ms) and not m.is_back), ""),
        failing=next((text for text in failures if text), ""),
        blocked=blocked_reason(waiting, observed.job, observed.now_ms)
        or blocked_task(observed.tasks, observed.now_ms)
        or next(map(_waits, filter(_waits, live)), ""),
        beside=next((text for text in beside if text), ""),
        stalled=stalled(roster, observed.now_ms, deadline_s, is_patient=version.fallback is not None),
        failed=failed,
        upgrading=step.says,
        needs=step.needs,
    )


def shown_role(member: Member, roster: Roster) -> str:
    """active, standby or starting. Of who says nothing: what it was, as long as Kubernetes calls it ready."""
    if member.state is not MemberState.UNKNOWN:
        return member.state.value if member.is_back else "starting"
    if not member.pod.ready:
        return "starting"
    known = member.pod.role if member.pod.role in ("active", "standby") else ""
    return known or ("starting" if roster.uses_slots else "active")


def _waits(member: Member) -> str:
    """What a replica's start has been waiting for, if it says that it does so for long."""
    reported = member.pod.reported
    waits_for = "" if reported is None or member.is_back else reported.waits_for
    return f"{member.name} waits for {waits_for}" if waits_for else ""


def _refusal(member: Member, observed: Observed) -> str:
    said = f"{member.name} refuses to run: {member.pod.message or 'its log says why'}"
    is_of_another_job = member.pod.end is EndKind.OTHER_JOB and was_never_changed(observed)
    return f"{said}. {_GOES_ON}" if is_of_another_job else said
