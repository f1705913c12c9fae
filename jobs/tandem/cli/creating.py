"""`tandem savepoint create`: of a job, or of all its lanes. All that can be wrong is found before the first one is made."""

from collections.abc import Sequence

from tandem.cli.kept import Chosen, Generation, NothingPublishedError
from tandem.cli.stores import Screen, ago, size_text, store_of
from tandem.manifest import Manifest, Spec
from tandem.snapshots import NoSnapshotError, Savepoint, SavepointExistsError, Savepoints, SnapshotError
from tandem.waiting import Deadline


def _there(job: Manifest, name: str) -> Savepoint | None:
    savepoints = Savepoints(store_of(job))
    try:
        savepoints.check_free(name)
    except SavepointExistsError:
        return savepoints.get(name)
    return None


def lacking(screen: Screen, jobs: Sequence[Manifest], name: str) -> list[Manifest]:
    """Those that get a savepoint. Of lanes some may have it, from a try that went wrong half-way.

    Raises `SavepointExistsError`: all have it.
    """
    if len(jobs) == 1:
        Savepoints(store_of(jobs[0])).check_free(name)
        return [*jobs]
    there = {job.name: _there(job, name) for job in jobs}
    if all(there.values()):
        raise SavepointExistsError(f"all lanes have a savepoint {name}: delete it first, or choose another name")
    for lane, made in there.items():
        if made is not None:
            screen.out.print(f"{lane} has a savepoint {name} already, which stays: {described(made)}")
    return [job for job in jobs if there[job.name] is None]


def generations_of(jobs: Sequence[Manifest]) -> list[Generation]:
    """What the jobs run. Raises `NothingPublishedError`: a job starts from a savepoint only if each of its lanes has it."""
    found, silent = [], []
    for job in jobs:
        try:
            found.append(Generation.of(job))
        except NothingPublishedError:
            if len(jobs) == 1:
                raise
            silent.append(job.name)
    if silent:
        raise NothingPublishedError(
            f"{', '.join(silent)} {'has' if len(silent) == 1 else 'have'} published nothing yet, so there is no state to "
            "keep, and a job can start from a savepoint only if each lane has it. None was made of the others. Try again "
            "when all have published something, or name a lane that has: --lane"
        )
    return found


def keep(screen: Screen, chosen: Sequence[Chosen], name: str) -> None:
    """Make the savepoints; if one fails, it is said which are there."""
    made: list[str] = []
    for one in chosen:
        job = one.generation.job.name
        try:
            screen.out.print(f"savepoint {name} of job {job}: {described(one.keep(name))}")
        except SnapshotError as error:
            if len(chosen) > 1:
                error.args = (f"{job}: {error}",)
            if made:
                screen.errors.print(
                    f"{', '.join(made)} have savepoint {name}. The same command goes on with the others"
                )
            raise
        made.append(job)


def chosen(screen: Screen, asked: Generation, wait_s: float | None, again: str) -> Chosen:
    """The state to keep: the newest one, or after at most `wait_s` one that includes all that is published by now."""
    if wait_s is None:
        return asked.newest()
    job, epoch = asked.job, asked.published
    try:
        with screen.doing(f"Waiting for a snapshot of epoch {epoch:,} or later, for at most {wait_s:.0f} s …"):
            snapshot = asked.not_before(epoch, Deadline(wait_s))
    except NoSnapshotError as error:
        wanted = f"no snapshot of epoch {epoch:,}, the last one published, appeared within {wait_s:.0f} s"
        if error.newest is None:
            begun = asked.config.savepoint
            first = f" --newest keeps the state that its generation began with, savepoint {begun}" if begun else ""
            raise NoSnapshotError(f"{wanted}, and there is no older one: does the job run?{first}") from error
        newest = f"the newest one is of epoch {error.newest.epoch:,}, taken {ago(error.newest.taken_at_ms)} ago"
        raise NoSnapshotError(
            f"{wanted}; {newest}. If the job runs, --wait for longer than {patience(job.spec)}; if it has "
            f"stopped, take that one: tandem savepoint create {again} --newest"
        ) from error
    return asked.chosen(snapshot)


def patience(spec: Spec) -> str:
    """In words, how long it may take until a snapshot includes what is published now."""
    snapshots = f"spec.snapshots.interval ({spec.snapshots and spec.snapshots.interval})"
    if spec.engine == "microBatch":
        return snapshots
    return f"{snapshots} and twice spec.ordering.barrierInterval ({spec.ordering.barrier_interval}) together"


def described(made: Savepoint) -> str:
    """What is in a savepoint, in words."""
    snapshot = made.snapshot
    return (
        f"epoch {snapshot.epoch:,}, {size_text(snapshot.size)} in {len(snapshot.files):,} files, {_partitions(made)}, "
        f"taken {ago(snapshot.taken_at_ms)} ago"
    )


def _partitions(savepoint: Savepoint) -> str:
    count = savepoint.partitions
    return "no state" if count == 0 else f"{count} partition{'' if count == 1 else 's'} of state"
