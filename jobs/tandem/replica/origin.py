"""What a replica's generation begins with: who begins it looks at the savepoint, and who starts later need not."""

from __future__ import annotations

from collections.abc import Callable

from tandem.protocol.values import Config
from tandem.replica.identity_parts import is_same_job
from tandem.snapshots import Savepoint


def origin_of(
    accepted: Config | None, identity: str, savepoint: str, fitting: Callable[[], Savepoint]
) -> tuple[int, str]:
    """The epoch and the name of the savepoint that the generation of a process starts from, which was started with
    `savepoint`.

    `accepted` : the config of the job's newest generation. `identity`: the process' own, without a plan. A process is
    started again with the same arguments long after its generation has begun: the savepoint may be gone by then, or the
    inputs have more partitions, and its store may be away. `fitting`: finds it and checks it, see
    `States.fitting_savepoint`.
    """
    if accepted is not None and accepted.savepoint == savepoint and is_same_job(identity, accepted.digest):
        return accepted.base, accepted.savepoint
    found = fitting()
    return found.snapshot.epoch, found.name
