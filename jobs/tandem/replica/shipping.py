"""An incarnation's part in state shipping: it follows others' state until it computes itself, then it may ship its own."""

import threading
from pathlib import Path

import pyarrow as pa
import pyspark

from tandem.checkpoint.position import EnginePosition
from tandem.engine.spark import SparkEngine
from tandem.kafka.client import KafkaConnection
from tandem.manifest import Manifest
from tandem.protocol.shipping import ShippingTurn
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import Config
from tandem.protocol.verification import VerificationPace
from tandem.replica.rows import EpochRows
from tandem.shipping import (
    Bases,
    Follower,
    FollowerSettings,
    ShippedState,
    Shipper,
    ShipperSettings,
    StateIdentity,
    Trial,
    Verdicts,
    Verifier,
)
from tandem.snapshots import rocksdb_state_format
from tandem.status.metrics import ReplicaMetrics
from tandem.status.reporter import Reporter

_LEAST_SILENCE_MS, _MOST_SILENCE_MS, _SLOWER = 500.0, 3_000.0, 3.0
_MOST_BYTES = 4_000_000


class StateShipping:
    """Does nothing at all if the manifest does not want it.

    `commits_topic` : with the markers that this replica reads.
    `folder` : the incarnation's.
    `reporter` : is given the epochs of the followed state; its `waits` makes the tasks that say what takes long.
    """

    def __init__(
        self,
        manifest: Manifest,
        connection: KafkaConnection,
        commits_topic: str,
        incarnation: str,
        folder: Path,
        metrics: ReplicaMetrics,
        reporter: Reporter,
    ) -> None:
        self._waits = reporter.waits
        self._reporter = reporter
        self._manifest = manifest
        self._connection = connection
        self._commits_topic = commits_topic
        self._incarnation = incarnation
        self._folder = folder
        self._metrics = metrics
        self._topic = manifest.model.topics.checkpoints
        self._identity = StateIdentity("", "")
        self._follower: Follower | None = None
        self._verifier: Verifier | None = None
        self._shipper: Shipper | None = None
        self._proved = False
        self._lock = threading.Lock()
        self._is_over = False  # it follows nothing any more
        self._first_followed: int | None = None

    @property
    def has_to_prove(self) -> bool:
        """Whether something was published that could prove the followed state, or there is no such state."""
        if self._follower is None:
            return False
        return self._follower.published > (-1 if self._first_followed is None else self._first_followed)

    @property
    def has_proved(self) -> bool:
        """Whether the followed state was proved, and has not been dropped since."""
        return self._proved

    @property
    def followed(self) -> int:
        """The epoch that the followed state stands at; −1: there is none."""
        return -1 if self._follower is None else self._follower.epoch

    @property
    def epochs_a_batch(self) -> int:
        """How many epochs lie between two states that are followed."""
        return 1 if self._follower is None else self._follower.epochs_a_batch

    @property
    def last_published(self) -> int | None:
        """The last published epoch as far as the follower knows, if it is up to date."""
        return self._follower.published if self._follower is not None and self._follower.is_current else None

    def follow(self, config: Config, bases: Bases) -> None:
        """Begin to follow the state of `config`'s generation."""
        if not self._manifest.model.ships_state:
            return
        self._identity = StateIdentity(config.lineage, rocksdb_state_format(pyspark.__version__))
        self._follower = Follower(
            self._connection,
            FollowerSettings(self._commits_topic, self._topic, self._identity, config.generation),
            bases,
            self._folder / "followed",
            self._has_followed,
            task=self._waits.task(beside=True),
        )
        self._follower.start()

    def prove_with(self, engine: SparkEngine) -> None:
        """Prove the followed state from time to time, while `engine` does not compute."""
        if self._follower is None:
            return
        ordered = self._manifest.spec.spark.parallelism == 1

        def digest_of(epoch: int, table: pa.Table) -> str:
            return EpochRows.of(epoch, table, ordered).digest

        self._verifier = Verifier(
            self._follower,
            Trial(engine.rehearse, digest_of),
            self._folder / "proof",
            VerificationPace(),
            Verdicts(self._has_proved, self._has_dropped, self._has_raised),
            task=self._waits.task(beside=True),
        )
        self._verifier.start()

    def _has_followed(self, epoch: int) -> None:
        self._first_followed = epoch if self._first_followed is None else self._first_followed
        self._say(followed=epoch)

    def _has_proved(self, epoch: int) -> None:
        self._proved = True
        self._say(verified=epoch)

    def _has_dropped(self, _epoch: int) -> None:
        self._proved = False
        self._say(verified=-1)
        self._metrics.state_mismatches.inc()

    def _has_raised(self, fault: str) -> None:
        self._reporter.fault = fault

    def hand_over(self, target: Path) -> EnginePosition | None:
        """End following and proving; the followed state becomes the new folder `target`. None if there is none."""
        if self._verifier is not None:
            self._verifier.stop()
        follower, self._follower = self._follower, None
        position = None if follower is None else follower.hand_over(target)
        self._follows_nothing()
        return position

    def ship(self, checkpoint: Path, barrier_ms: float = 0.0) -> None:
        """This incarnation computes: it ships what it adds to `checkpoint` when it is its turn.

        `barrier_ms` : state is committed behind barriers, so far apart; 0: behind each epoch.
        """
        if not self._manifest.model.ships_state:
            return
        self._end_following()
        bound = AdaptiveTimeout(barrier_ms + _LEAST_SILENCE_MS, 3 * barrier_ms + _MOST_SILENCE_MS, _SLOWER)
        shipper = Shipper(
            self._connection,
            ShipperSettings(self._topic, _MOST_BYTES, at_barriers=barrier_ms > 0),
            ShippedState(self._identity, self._incarnation, checkpoint),
            ShippingTurn(self._incarnation, bound),
            self._shipped,
            task=self._waits.task(beside=True),
        )
        shipper.start()
        self._shipper = shipper

    def published(self, epoch: int) -> None:
        """The marker of `epoch` was read, and is of what this replica has computed."""
        if self._shipper is not None:
            self._shipper.published(epoch)

    def stop(self) -> None:
        """Stop everything."""
        if self._shipper is not None:
            self._shipper.stop()
        self._end_following()

    def _end_following(self) -> None:
        if self._verifier is not None:
            self._verifier.stop()
        if self._follower is not None:
            self._follower.stop()
        self._follower = None
        self._follows_nothing()

    def _follows_nothing(self) -> None:
        """What was followed and proved says nothing of a replica that computes. A proof that ends later neither."""
        with self._lock:
            self._is_over = True
            self._reporter.followed_epoch = self._reporter.verified_epoch = -1

    def _say(self, followed: int | None = None, verified: int | None = None) -> None:
        with self._lock:
            if followed is not None and not self._is_over:
                self._reporter.followed_epoch = followed
            if verified is not None and not self._is_over:
                self._reporter.verified_epoch = verified

    def _shipped(self, epoch: int, size: int) -> None:
        self._metrics.shipped_epoch.set(epoch)
        self._metrics.shipped_bytes.inc(size)
