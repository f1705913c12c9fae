"""What new pods are made from, and which of those that are there are outdated.

A change of the job's configuration (what it computes) needs a new generation, through a savepoint: until that has begun,
the log accepts only processes of the old one. So nothing is rolled then, and pods that die are replaced by ones of the last
revision that worked; or, where none is kept, by ones that read the manifest that the others read. If there are no others
either, as in a job that was suspended meanwhile, none is made.

Code that lies elsewhere, as in another ConfigMap, may be other code, and so is such a change where the job takes snapshots.
Where it takes none, and could have no next generation, pods with that code are tried, and refused by the log if it is other
code. A job that its own code has stopped can have one in any case.

A job that its code has stopped, and of which what ran last was never known to work, has nothing to go back to: a new one
that a record of its first day has stopped, or one whose next generation began and failed like the one before. The log has
its configuration all the same: so its next members begin another generation themselves. That is in the status before one
is replaced. One whose spec was never changed does not: the log is that of another job of its name, which may be running.

Any other change makes another revision of the job. One that was tried and failed is gone back from: pods are made from the
last one that worked then, and those of the failed one are outdated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from tandem.manifest import ReplicatedStreamJob
from tandem.process.ending import EndKind
from tandem_operator.observed import Component, Observed, PodSeen
from tandem_operator.plan.failures import is_stopped, nobody_works
from tandem_operator.plan.good import good_revisions
from tandem_operator.resources.candidates import accepting
from tandem_operator.resources.manifest import config_of, is_other_config
from tandem_operator.resources.pods import dated, pod, template
from tandem_operator.resources.revisions import digest_of, job_of
from tandem_operator.resources.settings import Settings
from tandem_operator.status import Status


@dataclass(frozen=True, slots=True)
class Version:
    """What is known of the spec's version of the job, of the one that runs, and of the last one that worked.

    `job` : what new pods are made from: the job as its spec asks for it, or as the last revision that worked has it.
    `templates` : of pods of each component of that job.
    `target` : the configuration that the spec asks for.
    `accepted` : the configuration that was seen to run, "": none was.
    `by_code` : whether code that lies elsewhere is another configuration.
    `revision` : the revision that the spec asks for.
    `fallback` : the job of the last revision that worked, if that is another one and its pods would be accepted.
    `is_rejected` : the spec's revision was tried and failed.
    `model` : the pod whose manifest new ones get, None: the job's.
    `is_mended` : it stands still with nothing to go back to, and the spec asks for another configuration than the log
    has.
    `accepts` : that is in the status, so new members may begin another generation.
    """

    job: ReplicatedStreamJob
    templates: tuple[tuple[Component, str], ...]
    target: str
    accepted: str
    by_code: bool
    revision: str
    fallback: ReplicatedStreamJob | None = None
    is_rejected: bool = False
    model: PodSeen | None = None
    is_mended: bool = False
    accepts: bool = False

    @property
    def is_held(self) -> bool:
        """Whether the spec asks for another configuration than the one that runs."""
        return bool(self.accepted) and is_other_config(self.accepted, self.target, self.by_code)

    @property
    def falls_back(self) -> bool:
        """Whether pods are made from the last revision that worked, instead of the spec."""
        return self.fallback is not None and (self.is_held or self.is_rejected)

    @property
    def is_blocked(self) -> bool:
        """Whether no pod that the log accepts can be made: nothing is left that shows how those that ran were made."""
        return self.is_held and self.model is None and self.fallback is None

    def is_outdated(self, seen: PodSeen) -> bool:
        """Whether the pod is to be replaced."""
        if self.is_held and not self.is_blocked:
            return is_other_config(seen.config, self.accepted, self.by_code)
        if self.accepts and _is_refused_by_the_log(seen):
            return True  # another one made from the same may begin a generation
        return seen.template != dict(self.templates)[seen.component]


_TEMPLATED: Final = (Component.MEMBER, Component.GENERATOR)


def version_of(observed: Observed, settings: Settings, old: Status) -> Version:
    """What is asked for, and what runs. A member that works shows that the log has accepted its configuration."""
    target, revision = config_of(observed.job), digest_of(observed.job, settings)
    working = {seen.config for seen in observed.pods if _works(seen)}
    remembered = (old.config_hash.current if old.config_hash else None) or ""
    accepted = target if target in working else min(working, default=remembered)
    good = next(reversed(good_revisions(observed.objects)), None)
    known = None if good is None else job_of(good.content, observed.job)
    is_adrift = nobody_works(observed) and not _is_of(accepted, known)
    accepted = "" if is_adrift else accepted
    accepts = not accepted and old.upgrade is not None and old.upgrade.revision == revision
    last = None if good is None or good.digest == revision or is_adrift or accepts else known
    saves = last is not None and last.spec.snapshots is not None and observed.job.spec.snapshots is not None
    by_code = saves or (last is not None and is_stopped(observed))
    fits = last is not None and not (accepted and is_other_config(accepted, config_of(last), by_code))
    fallback = last if fits else None
    is_held = bool(accepted) and is_other_config(accepted, target, by_code)
    failed = old.revision.failed if old.revision else None
    is_rejected = fallback is not None and not is_held and failed == revision
    job = fallback if fallback is not None and (is_held or is_rejected) else observed.job
    templates = tuple((component, template(job, settings, component)) for component in _TEMPLATED)
    model = _model(observed, accepted) if is_held and fallback is None else None
    is_changed = not was_never_changed(observed) and any(map(_is_refused_by_the_log, observed.pods))
    is_mended = is_adrift and (is_changed or _has_others(observed, target))
    return Version(
        job, templates, target, accepted, by_code, revision, fallback, is_rejected, model, is_mended, accepts
    )


def _is_of(accepted: str, known: ReplicatedStreamJob | None) -> bool:
    """Whether the configuration that ran last is that of the revision that is known to work."""
    return known is not None and bool(accepted) and not is_other_config(accepted, config_of(known), by_code=True)


def new_pod(
    observed: Observed, settings: Settings, version: Version, component: Component, index: int, name: str
) -> dict[str, Any]:
    """A pod to be created."""
    made = pod(version.job, observed.uid, settings, component, index, name)
    if version.accepts and component is Component.MEMBER:
        made = accepting(made)
    model = version.model
    if model is None:
        return made
    made_from = model.template if model.component is component else ""
    return dated(made, model.manifest, model.config, made_from)


def _has_others(observed: Observed, target: str) -> bool:
    """Whether a member is of another configuration than the spec's, or has its code from elsewhere."""
    members = (seen for seen in observed.pods if seen.component is Component.MEMBER and not seen.is_gone)
    return any(is_other_config(seen.config, target, by_code=True) for seen in members)


def was_never_changed(observed: Observed) -> bool:
    """Whether the job's spec is the first one that it has had. A log that refuses it may well be that of another job of its
    name, in another namespace or cluster."""
    return observed.generation <= 1


def _is_refused_by_the_log(seen: PodSeen) -> bool:
    """Whether it is a member of another configuration than the log's, which came as in a plain rollout."""
    return seen.component is Component.MEMBER and not seen.is_gone and seen.end is EndKind.OTHER_JOB


def _works(seen: PodSeen) -> bool:
    report = seen.reported
    return (
        seen.component is not Component.GENERATOR
        and not seen.is_gone
        and bool(seen.config)
        and report is not None
        and report.ready
        and not report.candidate
    )


def _model(observed: Observed, config: str) -> PodSeen | None:
    """The best of the pods of that configuration; one that is gone will do."""
    known = [seen for seen in observed.pods if seen.config == config and seen.manifest]
    return min(
        known, key=lambda s: (s.component is not Component.MEMBER, s.is_gone, -s.created_ms, s.name), default=None
    )
