"""Before a job's changes are accepted: another run of it, in another namespace or cluster, is waited for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Final

from tandem.coordination.presence import replicas_up
from tandem.coordination.zookeeper import ZOOKEEPER_ERRORS
from tandem.kafka.history import current_decisions, markers_back_to
from tandem.logs import get_logger
from tandem.protocol.other_run import QUIET_S, Standing, other_run
from tandem.protocol.values import Config
from tandem.replica.kafka_clients import KafkaClients
from tandem.replica.setting import Setting
from tandem.waiting import Deadline
from tandem.waits import Task

_log = get_logger(__name__)

_LOOK_S: Final = 3.0
_WHAT: Final = "another run of this job to end, before it goes on with changes"


class OtherRun:
    """What another run of the job does, from when this process began.

    `look` : see `Standing`; the second value is whether the generation that this process would begin has begun. Its
    argument is the number of that generation; None: it is the next one.
    """

    def __init__(
        self,
        look: Callable[[int | None], tuple[Standing, bool]],
        remedy: str,
        clock_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._look, self._remedy, self._clock_s, self._sleep = look, remedy, clock_s, sleep
        self._start, _ = look(None)
        self._due, self._due_since_s = self._start.due, clock_s()

    def wait_until_over(self, candidate: Config, task: Task, rest: Callable[[], None]) -> None:
        """Until nothing shows any more that it runs, or `candidate`'s generation has begun. Says at once why it waits.

        `rest` : called at each look; see `Resting`.
        """
        newest, since_s, said = self._start.marker, self._clock_s(), False
        while True:
            now, has_begun = self._look(candidate.generation)
            if now.marker != newest:
                newest, since_s = now.marker, self._clock_s()
            why = "" if has_begun else other_run(self._start, now, self._clock_s() - since_s, self._due_s(now.due))
            if not why:
                break
            if not said:
                _log.warning("another_run", waits_for=_WHAT, because=why, remedy=self._remedy)
                task.begins(_WHAT)
                said = True
            task.at(why, lambda: self._remedy)
            rest()
            self._sleep(_LOOK_S)
        if said:
            _log.info("another_run_over", generation_has_begun=has_begun)

    def _due_s(self, due: int | None) -> float:
        """For how long this epoch was seen to be due, s."""
        if due != self._due:
            self._due, self._due_since_s = due, self._clock_s()
        return self._clock_s() - self._due_since_s


def other_run_of(setting: Setting) -> OtherRun:
    """That of a replica's job. Its looks raise as `current_decisions`."""
    manifest, clients, logs = setting.manifest, setting.clients, setting.clients.logs
    options = manifest.zookeeper_options(os.environ)
    remedy = (
        f"A job with the same logs, {logs.ordering} and {logs.commits}, runs elsewhere: on another machine, in another "
        "namespace or cluster. Stop it there: this one goes on where it stands once nothing was published for "
        f"{QUIET_S:.0f} s. Or, to run both, give this one another metadata.name"
    )

    def registered() -> tuple[str, ...]:
        if options is None:
            return ()
        try:
            return replicas_up(options, manifest.name, Deadline(0))
        except ZOOKEEPER_ERRORS as error:
            _log.warning("zookeeper_away", reason=repr(error), effect="who is registered is not known")
            return ()

    def look(generation: int | None) -> tuple[Standing, bool]:
        there = registered()  # first: who has registered since its generation began is of one that the log shows
        return _standing(clients, generation, there)

    return OtherRun(look, remedy)


def _standing(clients: KafkaClients, generation: int | None, registered: tuple[str, ...]) -> tuple[Standing, bool]:
    """See `OtherRun`; what the logs say."""
    decisions = current_decisions(clients.connection, clients.logs.ordering, clients.logs.commits)
    accepted = -1 if decisions.config is None else decisions.config.generation
    begins = accepted + 1 if generation is None else generation
    markers = markers_back_to(clients.connection, clients.logs.commits, None)
    published = max((marker.epoch for _, marker in markers), default=-1)
    due = published + 1 if decisions.last_epoch > published else None
    before = [(offset, marker) for offset, marker in markers if marker.generation < begins]
    if not before:
        return Standing(due=due, registered=registered), accepted >= begins
    offset, newest = before[-1]
    return Standing(offset, newest.owner, newest.epoch, due, registered), accepted >= begins
