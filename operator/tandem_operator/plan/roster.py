"""Who the members of a job are and what each of them does, as far as is known. Everything else is decided from this."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from tandem.process.info import ExitCode
from tandem.protocol.switchover import replica_name
from tandem_operator.observed import Component, Observed, PodPhase, PodSeen
from tandem_operator.plan.failures import ends_again, refuses
from tandem_operator.plan.version import Version


class MemberState(StrEnum):
    """What a member does."""

    ACTIVE = "active"
    """It computes at the log's head."""
    STANDBY = "standby"
    """It stands by, and could take over."""
    STARTING = "starting"
    """It is not yet, or no longer, of use."""
    UNKNOWN = "unknown"
    """It runs, but what it says and what Kubernetes says of it do not agree yet, or it says nothing: hands off."""
    LEAVING = "leaving"
    """It is being deleted, and may be handing over."""
    GONE = "gone"
    """It ended, or its node is lost."""


@dataclass(frozen=True, slots=True)
class Member:
    """A pod of the job that is or was a member. `publishes`: it published last; `leads`: the orderer beside it does.

    `fails` : it refuses to run, or ends again and again.
    """

    pod: PodSeen
    state: MemberState
    slot: int | None = None
    publishes: bool = False
    leads: bool = False
    outdated: bool = False
    fails: bool = False

    @property
    def index(self) -> int:
        """Of the replica in it."""
        return self.pod.index

    @property
    def name(self) -> str:
        """The replica in it."""
        return self.pod.replica

    @property
    def is_live(self) -> bool:
        """Whether it counts: it is or will be of use."""
        return self.state not in (MemberState.LEAVING, MemberState.GONE)

    @property
    def is_back(self) -> bool:
        """Whether it does what it is there for."""
        return self.state in (MemberState.ACTIVE, MemberState.STANDBY)

    @property
    def computes(self) -> bool:
        """Whether it has started as an active, although it may be behind, and does not fail again and again."""
        report = self.pod.reported
        return report is not None and report.state == "active" and not report.diverged and not self.fails

    @property
    def is_important(self) -> bool:
        """Whether the reader might notice its end, if nobody took over first."""
        return self.publishes or self.leads


@dataclass(frozen=True, slots=True)
class Roster:
    """All members. `wanted_active` and `wanted_standby`: how many there shall be; none while the job is suspended.

    `uses_slots` : slots in ZooKeeper decide who is active. `knows_slots`: and they could be read, or there are none.
    `is_switching` : a switchover is under way.
    """

    members: tuple[Member, ...]
    wanted_active: int
    wanted_standby: int
    uses_slots: bool = False
    knows_slots: bool = True
    knows_publisher: bool = True
    is_switching: bool = False

    @property
    def wanted(self) -> int:
        """How many members there shall be."""
        return self.wanted_active + self.wanted_standby

    @property
    def live(self) -> tuple[Member, ...]:
        """Those that count."""
        return tuple(member for member in self.members if member.is_live)

    @property
    def back(self) -> tuple[Member, ...]:
        """Those that do what they are there for."""
        return tuple(member for member in self.members if member.is_back)

    @property
    def actives(self) -> tuple[Member, ...]:
        """Those that compute at the log's head."""
        return self.of(MemberState.ACTIVE)

    @property
    def standbys(self) -> tuple[Member, ...]:
        """Those that stand by."""
        return self.of(MemberState.STANDBY)

    @property
    def is_clear(self) -> bool:
        """Whether enough is known to remove a member that works."""
        return self.knows_slots and not self.of(MemberState.UNKNOWN)

    @property
    def useless(self) -> tuple[Member, ...]:
        """Those that may go without a loss: not one that is catching up while nobody else computes."""
        return tuple(m for m in self.of(MemberState.STARTING) if self.actives or not m.computes)

    def of(self, state: MemberState) -> tuple[Member, ...]:
        """The members in that state."""
        return tuple(member for member in self.members if member.state is state)

    def find(self, replica: str) -> Member | None:
        """The live member with that replica; of several, the best."""
        return best(member for member in self.live if member.name == replica)


def best(members: Iterable[Member]) -> Member | None:
    """Of several pods with one replica, the one to keep: the most useful, of those one with a slot, and the oldest."""
    return min(members, key=lambda m: (_USE.index(m.state), m.slot is None, m.pod.created_ms, m.pod.name), default=None)


_USE = (
    MemberState.ACTIVE,
    MemberState.STANDBY,
    MemberState.UNKNOWN,
    MemberState.STARTING,
    MemberState.LEAVING,
    MemberState.GONE,
)


def roster_of(observed: Observed, version: Version) -> Roster:
    """The members, by index. `version`: what they shall be made from."""
    spec = observed.job.spec
    uses_slots = bool(spec.standbys)
    publisher = publisher_of(observed)
    members = [_member(pod, observed, version, publisher) for pod in observed.pods if pod.component is Component.MEMBER]
    view = observed.view
    return Roster(
        members=tuple(sorted(members, key=lambda member: (member.index, member.pod.created_ms, member.pod.name))),
        wanted_active=0 if spec.suspend else spec.replicas,
        wanted_standby=0 if spec.suspend else spec.standbys,
        uses_slots=uses_slots,
        knows_slots=not uses_slots or view is not None,
        knows_publisher=bool(publisher),
        is_switching=view is not None and view.request is not None,
    )


def publisher_of(observed: Observed) -> str:
    """The incarnation that published last, as the member says that has seen most; "" if none says."""
    reports = [pod.reported for pod in observed.pods if pod.reported is not None and pod.reported.publisher]
    latest = max(reports, key=lambda reported: reported.epoch, default=None)
    return "" if latest is None else latest.publisher


def ended(pod: PodSeen) -> bool:
    """Whether its process has ended for good (it was drained, or by itself), although other containers still run."""
    return pod.phase is PodPhase.RUNNING and pod.ended and pod.exit_code == ExitCode.OK


def _member(pod: PodSeen, observed: Observed, version: Version, publisher: str) -> Member:
    spec, report = observed.job.spec, pod.reported
    slot = None if observed.view is None or report is None else observed.view.slot_of(report.incarnation)
    is_one_too_many = bool(spec.standbys) and slot is not None and slot >= spec.replicas
    named = bool(publisher) and (report.incarnation == publisher if report else replica_name(publisher) == pod.replica)
    return Member(
        pod=pod,
        state=_state(pod),
        slot=slot,
        publishes=named,
        leads=observed.leader == f"orderer-{pod.index}",
        outdated=version.is_outdated(pod) or is_one_too_many,
        fails=refuses(pod, observed.now_ms) or ends_again(pod, observed.now_ms),
    )


def _state(pod: PodSeen) -> MemberState:
    if pod.is_gone:
        return MemberState.LEAVING if pod.deleting and not pod.node_lost else MemberState.GONE
    if ended(pod):
        return MemberState.GONE
    report = pod.reported
    if report is None:
        return MemberState.UNKNOWN if pod.ready else MemberState.STARTING
    if pod.ready != report.ready:
        return MemberState.UNKNOWN
    if not report.ready or report.state == "starting":
        return MemberState.STARTING
    return MemberState.STANDBY if report.state == "standby" else MemberState.ACTIVE
