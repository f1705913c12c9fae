"""What an incarnation of a replica is given when it starts, and what all its stages share."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tandem.engine.memory import EpochSize, explained, memory_limit, no_room, too_small
from tandem.logs import get_logger
from tandem.manifest import Manifest
from tandem.manifest.models import Spec
from tandem.replica.kafka_clients import KafkaClients
from tandem.status.metrics import ReplicaMetrics
from tandem.status.reporter import Reporter
from tandem.status.serving import LOOPBACK
from tandem.waits import Waits

_log = get_logger(__name__)

START_TIMEOUT_S = 30.0


def new_incarnation(job: str, name: str) -> str:
    """A transactional id that no process ever had: a successor knows whom to fence."""
    return f"{job}.{name}.{uuid.uuid4().hex[:8]}"


@dataclass(frozen=True, slots=True)
class Setting:
    """One incarnation of the replica `name`; `host`: where its peers reach it."""

    manifest: Manifest
    name: str
    incarnation: str
    clients: KafkaClients
    metrics: ReplicaMetrics
    reporter: Reporter
    host: str = LOOPBACK

    @classmethod
    def of(
        cls, manifest: Manifest, name: str, metrics: ReplicaMetrics, reporter: Reporter, host: str = LOOPBACK
    ) -> Setting:
        """That of the incarnation of `reporter`; secrets are in the environment."""
        return cls(
            manifest, name, reporter.incarnation, KafkaClients.of(manifest, name, os.environ), metrics, reporter, host
        )

    @property
    def spec(self) -> Spec:
        """The manifest's."""
        return self.manifest.spec

    @property
    def waits(self) -> Waits:
        """Makes the tasks that say what takes long."""
        return self.reporter.waits

    @property
    def folder(self) -> Path:
        """This incarnation's; its siblings are those of other incarnations."""
        return self.manifest.checkpoint_directory / self.incarnation

    @contextmanager
    def room(self, given: EpochSize | None = None) -> Iterator[None]:
        """What the block raises, or that Spark had no memory left, or its files no room, if that is behind it.

        `given` : the epoch that Spark was given last.
        """
        try:
            yield
        except Exception as error:
            found = self._behind(error, given)
            if found is error:
                raise
            raise found from error

    def _behind(self, error: Exception, given: EpochSize | None) -> BaseException:
        """Raises nothing: what is behind an error must not hide it."""
        heap = self.spec.spark.driver_memory
        try:
            found = explained(error, heap, given, too_small(heap, memory_limit()))
            return no_room(error, self.manifest.checkpoint_directory) or found
        except Exception as trouble:
            _log.warning("failure_not_explained", kind=type(error).__name__, reason=repr(trouble))
            return error
