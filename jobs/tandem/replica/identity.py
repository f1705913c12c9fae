"""The job's identity in the ordering log: propose it, wait for it, and refuse to run under another one."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tandem.kafka.appender import ProposalAppender
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import ReadTimeoutError
from tandem.kafka.history import current_config, current_decisions
from tandem.kafka.topic_ids import check_same
from tandem.kafka.topics import Topics
from tandem.manifest import Manifest
from tandem.manifest.identity import lanes_of, parts_of
from tandem.process.info import RefusedError
from tandem.protocol.succession import other_topics
from tandem.protocol.values import Config, Offsets
from tandem.replica.identity_parts import (
    agreed_schemas,
    difference,
    different_in_plan,
    differs_in,
    engine_of,
    is_comparable,
    is_same_job,
    other_modules,
    schemas_in,
    with_plan,
)
from tandem.replica.lanes_before import how_to_change
from tandem.topics.declared import LogTopics, partitions_read


@dataclass(frozen=True, slots=True)
class Membership:
    """The generation that a replica belongs to; `candidate`: the log has not accepted its config yet."""

    config: Config
    candidate: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """Whether a replica may begin the job's next generation; `generation`: that one only, None: whichever is next.

    `command` : by which the user lets a stopped job, for messages; "": there is none, as in a pod. `how`: how the user lets
    any job, see `how_to_accept`. `pin`: a file of this pod or machine that keeps which generation was accepted, so that
    a process that starts again later does not accept what has changed since.
    """

    accepted: bool = False
    generation: int | None = None
    command: str = ""
    how: str = ""
    pin: Path | None = None

    def begins_after(self, accepted: Config) -> bool:
        """Whether the user has named the generation after `accepted`: what the plan is made of may have changed then, too.

        In a pod nobody has: one that is replaced later must not accept what has changed meanwhile.
        """
        return self.accepted and self.generation == accepted.generation + 1

    def pinned(self, next_generation: int) -> Changes:
        """The same for one generation only: that of the first start, else `next_generation`."""
        if not self.accepted or self.generation is not None or self.pin is None:
            return self
        self.pin.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError), self.pin.open("x") as file:
            file.write(str(next_generation))
        return replace(self, generation=int(self.pin.read_text()))


def membership_of(
    connection: KafkaConnection,
    topics: Topics,
    logs: LogTopics,
    mine: Config,
    changes: Changes = Changes(),
) -> Membership | None:
    """The generation of a replica whose manifest makes the config `mine`; None if the job never ran.

    With `mine.savepoint`, or with `changes.accepted`, it may be a candidate for the next generation.

    Raises `RefusedError` if the job is another one, `RecreatedTopicError`, `ReadTimeoutError`.
    """
    decisions = current_decisions(connection, logs.ordering, logs.commits)
    if decisions.config is not None:
        check_same(topics, decisions.topic_ids)
        return joining(mine, decisions.config, logs, changes.pinned(decisions.config.generation + 1))
    if mine.savepoint:
        raise RefusedError(f"there is nothing to upgrade: {logs.ordering} is empty. Start the job without a savepoint")
    return None


def begin_job(
    connection: KafkaConnection,
    appender: ProposalAppender,
    logs: LogTopics,
    mine: Config,
    changes: Changes = Changes(),
    timeout_s: float = 30.0,
) -> Membership:
    """Propose `mine` as the config of a job that never ran; the generation that the replica belongs to then.

    A config in the log is there for good, so what `mine` stands for must have been found to work. Another replica's may
    come first. Raises as `membership_of`.
    """
    deadline = time.monotonic() + timeout_s
    accepted = current_config(connection, logs.ordering, logs.commits)
    if accepted is None:
        appender.append(mine)
    while accepted is None:
        if time.monotonic() > deadline:
            raise ReadTimeoutError(f"no config appeared in {logs.ordering} within {timeout_s:.0f} s")
        accepted = current_config(connection, logs.ordering, logs.commits)
    return joining(mine, accepted, logs, changes)


def is_settled(known: Membership | None, mine: Config, changes: Changes) -> bool:
    """Whether a replica belongs to the generation `known`, whatever its plan turns out to be: it has to be that one's."""
    if known is None or known.candidate:
        return False
    return not _may_follow(mine, known.config, changes)


def _may_follow(mine: Config, accepted: Config, changes: Changes) -> bool:
    """Whether a replica of the same files may begin the generation after `accepted`, if its plan is another one."""
    return mine.savepoint not in ("", accepted.savepoint) or changes.begins_after(accepted)


class OtherJobError(RefusedError):
    """This replica's configuration is not the one that the job's log runs."""


class OtherSchemasError(Exception):
    """Another replica began the job, while a newer schema was registered: a new start takes those of the job."""


class UnlikeError(RefusedError):
    """This replica's plan is not the one that the job began with: the other replicas go on."""


def as_planned(
    membership: Membership | None, mine: Config, facts: Mapping[str, str], changes: Changes = Changes()
) -> tuple[Membership | None, Config]:
    """The generation of a replica, and its config, now that its plan is known; `facts`: see `plan_parts`.

    `mine.barriers` says whether the plan needs common barriers, see `protocol.barriers`.

    A generation that has begun says what its plan was made of. One that has not, or a new one from a savepoint or by
    `changes`, begins with what this replica found. Raises `UnlikeError`; `OtherJobError` if the job imports other code.
    """
    planned = replace(mine, digest=with_plan(mine.digest, facts))
    if membership is None:
        return None, planned
    if membership.candidate:
        begins = replace(membership.config, digest=planned.digest, barriers=planned.barriers)
        return Membership(begins, candidate=True), planned
    accepted = membership.config
    unlike = different_in_plan(facts, accepted)
    if unlike or (changes.begins_after(accepted) and not is_comparable(facts, accepted)):
        if not _may_follow(mine, accepted, changes) and schemas_in(facts) != agreed_schemas(accepted):
            raise OtherSchemasError(
                f"{accepted.proposer} has just begun the job with other schemas than the registry gave this replica: "
                f"{unlike}. Started again, it takes those that the job began with"
            )
        if _may_follow(mine, accepted, changes):
            return Membership(_following(planned, accepted), candidate=True), planned
        if engine_of(facts) != engine_of(parts_of(accepted.digest)):
            raise UnlikeError(
                f"this replica would compute the job with another engine than the one that {accepted.proposer} began it "
                "with: spec.engine is auto, and the job's plan decides. Name the engine that the job runs with in "
                f"spec.engine; or, to go on with this one as the job's next generation, {changes.how}"
            )
        onward = f"To go on with what is found now, as the job's next generation, {changes.how}"
        if other_modules(facts, accepted):
            raise OtherJobError(
                f"this replica's job is not the one that {accepted.proposer} began: the code that its file imports is "
                f"another ({unlike}). Replicas that run go on. If that is not meant, run the same files in every replica. "
                f"{onward}"
            )
        raise UnlikeError(
            f"this replica's plan is not the one that the job began with, by {accepted.proposer}, though its code is: "
            f"{unlike}. The code takes it from its surroundings: the clock, an environment variable, a file, the host. "
            "Replicas that run go on. Take times from ctx.epoch_time() and the records, constants from spec.job.options, "
            f"what changes from ctx.determinant(...). {onward}"
        )
    return membership, planned


def joining(mine: Config, accepted: Config, logs: LogTopics, changes: Changes) -> Membership:
    """How a replica belongs to a job whose newest config is `accepted`. Raises `RefusedError`."""
    if is_same_job(mine.digest, accepted.digest):
        return Membership(accepted)
    _check_lanes(mine, accepted, changes)
    is_wanted = changes.generation in (None, accepted.generation + 1)
    if not (mine.savepoint or changes.accepted) or not is_wanted:
        if changed := _other_inputs(mine, accepted):
            raise OtherJobError(
                f"this replica's job is not the one that {logs.ordering} runs, by {accepted.proposer}: it has other inputs: "
                f"{changed}. A job keeps its inputs: change spec.sources back, or give the changed job another "
                "metadata.name, with new topics of its own"
            )
        if names := _other_names(mine, accepted):
            raise OtherJobError(names)
        meant = f"stop the job and start it with `{changes.command}`" if changes.command else changes.how
        raise OtherJobError(
            f"this replica's job is not the one that {logs.ordering} runs, by {accepted.proposer}: "
            f"{difference(mine.digest, accepted.digest)}. If the change is meant, {meant}: it goes on where it stands, and "
            "each row is published once. If it is not, run the same files and versions in every replica; to run another job "
            "beside it, give it another metadata.name"
        )
    check_upgrade(mine, accepted)
    return Membership(_following(mine, accepted), candidate=True)


def _following(mine: Config, accepted: Config) -> Config:
    """The next generation of the same lane, which reads on."""
    generation, lane, lanes = accepted.generation + 1, accepted.lane, accepted.lanes
    return replace(mine, generation=generation, start=accepted.start, lane=lane, lanes=lanes)


def _other_inputs(mine: Config, accepted: Config) -> str:
    wanted, read = ({tp.topic for tp in config.start} for config in (mine, accepted))
    return other_topics(read, wanted) if read else ""


def _check_lanes(mine: Config, accepted: Config, changes: Changes) -> None:
    """Other lanes would leave inputs unread, so no single one of them may begin. Raises `RefusedError`."""
    if differs_in("lanes", mine.digest, accepted.digest):
        before = lanes_of(parts_of(accepted.digest))
        raise RefusedError(
            f"the job runs with spec.lanes: {before}, by {accepted.proposer}, and this replica's is another. "
            f"{how_to_change(before, changes.command)}"
        )


def _other_names(mine: Config, accepted: Config) -> str:
    """Why a job cannot go on with other topics of Tandem's own; "" if it has the same: what is published stands there."""
    if not differs_in("topics", mine.digest, accepted.digest):
        return ""
    return (
        f"the names of Tandem's own topics (spec.kafka.topics) are not those that {accepted.proposer} began the job with. "
        "They cannot change: the job would begin again, and publish what is published. Put back the old names, or give the "
        "changed job another metadata.name"
    )


def check_upgrade(mine: Config, accepted: Config) -> None:
    """A generation reads on where the one before ended, and publishes in the same way. Raises `RefusedError`."""
    if changes := _other_inputs(mine, accepted):
        raise RefusedError(
            f"the upgrade reads other inputs than the job: {changes}. Give the changed job another "
            "metadata.name, with new topics of its own"
        )
    if names := _other_names(mine, accepted):
        raise RefusedError(names)
    if differs_in("delivery", mine.digest, accepted.digest):
        raise RefusedError("an upgrade cannot change spec.delivery. Give the changed job another metadata.name")


def starting_positions(topics: Topics, manifest: Manifest) -> Offsets:
    """Where each source begins when the job has never run. Raises `MissingTopicError`."""
    found: dict[str, Offsets] = {}
    for source in manifest.spec.sources:
        partitions = partitions_read(manifest, topics.partitions(source.topics))
        if source.starting_offsets == "earliest":
            found[source.name] = topics.beginnings(partitions)
        else:
            found[source.name] = topics.ends(partitions, source.isolation_level)
    return Offsets({tp: offset for positions in found.values() for tp, offset in positions.items()})
