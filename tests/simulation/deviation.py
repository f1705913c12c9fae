"""How a run deviates from the protocol, if a test removes a guard."""

from dataclasses import dataclass

from simulation.store import SimulatedRemote
from tandem.core.asking import Asking
from tandem.core.orderer import OrdererCore
from tandem.protocol.pace import Pace
from tandem.protocol.publication import Publication
from tandem.snapshots import SnapshotStore


@dataclass(frozen=True, slots=True)
class Deviation:
    """How a run deviates from the protocol: not at all, unless a test removes a guard."""

    publication: type[Publication] = Publication
    pace: type[Pace] = Pace
    asking: type[Asking] = Asking
    orderer: type[OrdererCore] = OrdererCore
    marks_first: bool = False  # without transactions: the marker is sent before the rows
    initialises_late: bool = False  # the producer, some time after the first claim
    reuses_ids: bool = False  # a restarted replica goes on under its old transactional id
    fences_hastily: bool = False  # does not wait for the transaction that a fence met to be ended
    reads_only: str = ""  # "log" or "commits": the only one that it reads to its end
    waits_for_open_transactions: bool = False  # when it reads the commits topic to its end
    resumes_with_config_at: int | None = None  # always this config, whichever was in force where the state was
    restores_any_lineage: bool = False  # a new generation takes state of the old one, of whatever epoch
    restores_unpublished: bool = False  # the newest state, whether or not its epoch is published
    lends_uncompared: bool = False  # state after epochs whose marker was not read, or not compared yet
    restores_any_config: bool = False  # state of another job
    skips_replay: bool = False  # goes on after the last marker, however old its state is
    waits_for_a_slot: bool = False  # a standby, however silent the log is
    cuts_log_short: bool = False  # to what the newest snapshot needs
    replays_blindly: bool = False  # without the markers of the epochs that it computes once more
    turns_over_apart: bool = False  # although the watermark moves there
    commits_between: bool = False  # state also where there is no barrier
    takes_batch_for_epoch: bool = False  # in what it restores
    lanes_share: str = ""  # "ids", "log", "commits", "folder" or "partitions", each of which a lane has for itself
    lanes_wait: bool = False  # a lane's orderer, for the lanes that are behind
    changes_lanes: str = ""  # without what, see `guards_of_lane_change`
    store: type[SnapshotStore] = SnapshotStore
    remote: type[SimulatedRemote] = SimulatedRemote
