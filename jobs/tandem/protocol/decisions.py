"""The fold of the ordering log: which proposal is accepted. The one place that decides.

All processes of a job apply the same records of the ordering topic, in the order of their offsets, to a `Decisions`, and
so agree. A proposal that a rule refuses has no effect: it was late, repeated, or by a leader that no longer is one.

===========  ===================================================================================
proposal     accepted when
===========  ===================================================================================
config       it is the first of the next generation; what is cut after it is of that generation. One that
             moves the lane may skip generations: epochs then go on with its own, at its positions
cut          its epoch is the last accepted one + 1, no input's position goes back, and all of them
             are of partitions of the lane, if the config says which those are
claim        its epoch is cut, its attempt is the last accepted attempt of that epoch + 1, and it
             is by the epoch's generation, or by a later one, never by an earlier
determinant  its epoch is cut, its question has no whole answer yet, and it is the next part of
             its proposer's answer: the first answer that is whole counts
progress     never: it is advice
===========  ===================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from tandem.protocol.values import (
    Answers,
    Claim,
    Config,
    Cut,
    Determinant,
    EpochRange,
    LagReport,
    Offsets,
    Proposal,
    TopicIds,
)


class Verdict(Enum):
    """What the rule said of a proposal."""

    ACCEPTED = "accepted"
    REPEATED = "repeated"  # somebody else was first, or it is a copy
    TOO_EARLY = "too early"  # a gap: its predecessor is not in the log
    GOES_BACK = "goes back"  # a cut that would take records back
    OTHER_LANE = "other lane"  # a cut that would take what another lane reads
    SUPERSEDED = "superseded"  # a claim of an earlier generation than the epoch's
    ADVICE = "advice"


def is_next_generation(generation: int, newest: int) -> bool:
    """The first config of a generation counts, and no other ever: replicas that run another program refuse to start."""
    return generation == newest + 1


def may_move(config: Config, newest: int) -> bool:
    """Whether a config moves the lane: all lanes of a job move to one generation, after those of all of them."""
    return config.moved and config.generation > newest


def is_of_lane(ends: Offsets, config: Config) -> bool:
    """Whether all partitions are of the lane: an orderer that was started with another number of lanes reads others."""
    return not config.lanes or all(tp.partition % config.lanes == config.lane for tp in ends)


def is_next_epoch(epoch: int, last_epoch: int) -> bool:
    """Epochs are contiguous: each is cut exactly once, after its predecessor."""
    return epoch == last_epoch + 1


def never_goes_back(ends: Offsets, last_ends: Offsets) -> bool:
    """No input's position decreases, and no input is forgotten: else records would be read twice or never."""
    return all(ends.get(tp, -1) >= offset for tp, offset in last_ends.items())


def is_cut(epoch: int, last_epoch: int) -> bool:
    """Only a cut epoch is claimed, and answered for: before, nobody knows which generation it will be of."""
    return epoch <= last_epoch


def is_next_attempt(attempt: int, last_attempt: int) -> bool:
    """Attempts to publish an epoch are numbered without gaps, so each has exactly one owner."""
    return attempt == last_attempt + 1


def is_of_generation(generation: int, epochs: int, newest: int) -> bool:
    """Whether code of `generation` may make an epoch of the generation `epochs`: a later one may, if its own does not."""
    return epochs <= generation <= newest


def is_unanswered(determinants: Sequence[Determinant] | None) -> bool:
    """The first whole answer to a question counts, and no other ever: what was computed from it may be published."""
    return determinants is None


def is_next_part(determinant: Determinant, received: Sequence[Determinant]) -> bool:
    """An answer's parts come in order, all from one proposer; whole answers of others are not waited for."""
    return determinant.part == len(received) and all(part.parts == determinant.parts for part in received)


class Decisions:
    """What the log has decided so far, as far as anyone may still need it.

    >>> log = Decisions()
    >>> log.apply(Cut(0, Offsets(), 0, 0, "orderer-0"))
    <Verdict.TOO_EARLY: 'too early'>
    >>> log.apply(Config(0, "c0ffee", Offsets(), "replica-0"))
    <Verdict.ACCEPTED: 'accepted'>
    """

    def __init__(self) -> None:
        self.config: Config | None = None
        self.config_offset = 0
        self.last_epoch = -1
        self.last_ends = Offsets()
        """Where the last accepted cut ended: the start of the next epoch."""
        self.topic_ids: TopicIds = ()
        """Which topics the positions are of: what the log said of it first. Empty: it has not said yet."""
        self._generations: list[tuple[int, int]] = []  # the last epoch before a generation, and its number
        self._ranges: dict[int, EpochRange] = {}
        self._claims: dict[int, list[Claim]] = {}
        self._answers: dict[int, dict[str, list[Determinant]]] = {}
        self._received: dict[int, dict[str, dict[str, list[Determinant]]]] = {}

    @classmethod
    def resumed(cls, config: Config, published: Cut, offset: int, config_offset: int = 0) -> Decisions:
        """The decisions of a log that is read from `offset` on, where the accepted cut `published` stands.

        Sound where that cut's epoch is published: nothing before its cut can matter any more, but the `config` that is in
        force there, at `config_offset`.
        """
        log = cls()
        log.config, log.config_offset = config, config_offset
        log._generations = [(published.epoch - 1, config.generation)]
        log.last_epoch, log.last_ends = published.epoch, published.ends
        log.topic_ids = config.topic_ids or published.topic_ids
        log._ranges[published.epoch] = _range_of(published, Offsets(), offset, config_offset)
        return log

    def apply(self, proposal: Proposal, offset: int = 0) -> Verdict:
        """Apply the next record of the log, the one at `offset`. All that can change the state is called from here."""
        match proposal:
            case Config():
                return self._config(proposal, offset)
            case Cut():
                return self._cut(proposal, offset)
            case Claim():
                return self._claim(proposal)
            case Determinant():
                return self._determinant(proposal)
            case LagReport():
                return Verdict.ADVICE

    def _config(self, config: Config, offset: int) -> Verdict:
        generation = -1 if self.config is None else self.config.generation
        if may_move(config, generation):
            return self._move(config, offset)
        if not is_next_generation(config.generation, generation):
            return Verdict.REPEATED if config.generation <= generation else Verdict.TOO_EARLY
        if self.config is None:
            self.last_ends = config.start
        self.config, self.config_offset = config, offset
        self.topic_ids = self.topic_ids or config.topic_ids
        self._generations.append((self.last_epoch, config.generation))
        return Verdict.ACCEPTED

    def _move(self, config: Config, offset: int) -> Verdict:
        """Nothing that was cut before matters any more: what of it was published, other lanes go on from."""
        self.config, self.config_offset = config, offset
        self.last_epoch, self.last_ends = config.base - 1, config.start
        self.topic_ids = config.topic_ids
        self._generations.append((self.last_epoch, config.generation))
        for known in (self._ranges, self._claims, self._answers, self._received):
            known.clear()
        return Verdict.ACCEPTED

    def _cut(self, cut: Cut, offset: int) -> Verdict:
        if self.config is None:
            return Verdict.TOO_EARLY
        if not is_next_epoch(cut.epoch, self.last_epoch):
            return Verdict.REPEATED if cut.epoch <= self.last_epoch else Verdict.TOO_EARLY
        if not never_goes_back(cut.ends, self.last_ends):
            return Verdict.GOES_BACK
        if not is_of_lane(cut.ends, self.config):
            return Verdict.OTHER_LANE
        self._ranges[cut.epoch] = _range_of(cut, self.last_ends, offset, self.config_offset)
        self.last_epoch, self.last_ends = cut.epoch, cut.ends
        self.topic_ids = self.topic_ids or cut.topic_ids
        return Verdict.ACCEPTED

    def _claim(self, claim: Claim) -> Verdict:
        if not is_cut(claim.epoch, self.last_epoch):
            return Verdict.TOO_EARLY
        if self._is_forgotten(claim.epoch):
            return Verdict.REPEATED  # it was published, and its attempts are forgotten with it
        last_attempt = len(self._claims.get(claim.epoch, ())) - 1
        if not is_next_attempt(claim.attempt, last_attempt):
            return Verdict.REPEATED if claim.attempt <= last_attempt else Verdict.TOO_EARLY
        if not is_of_generation(claim.generation, self.generation_of(claim.epoch), self._generations[-1][1]):
            return Verdict.SUPERSEDED if claim.generation < self._generations[-1][1] else Verdict.TOO_EARLY
        self._claims.setdefault(claim.epoch, []).append(claim)
        return Verdict.ACCEPTED

    def _determinant(self, determinant: Determinant) -> Verdict:
        epoch, name = determinant.epoch, determinant.name
        if not is_cut(epoch, self.last_epoch):
            return Verdict.TOO_EARLY
        if self._is_forgotten(epoch) or not is_unanswered(self._answers.get(epoch, {}).get(name)):
            return Verdict.REPEATED
        proposed = self._received.setdefault(epoch, {}).setdefault(name, {})
        received = proposed.setdefault(determinant.proposer, [])
        if not is_next_part(determinant, received):
            return Verdict.REPEATED if determinant.part < len(received) else Verdict.TOO_EARLY
        received.append(determinant)
        if len(received) == determinant.parts:
            self._answers.setdefault(epoch, {})[name] = received
            del self._received[epoch][name]
        return Verdict.ACCEPTED

    def _is_forgotten(self, epoch: int) -> bool:
        return epoch <= self.last_epoch and epoch not in self._ranges

    def generation_of(self, epoch: int) -> int:
        """The generation that `epoch` was cut in, or would be now; −1 before the first config."""
        for last, number in reversed(self._generations):
            if epoch > last:
                return number
        return -1

    def epoch_range(self, epoch: int) -> EpochRange | None:
        """What `epoch` reads; None if it is not cut yet, or forgotten."""
        return self._ranges.get(epoch)

    def claims(self, epoch: int) -> tuple[Claim, ...]:
        """The accepted claims of `epoch`, first attempt first."""
        return tuple(self._claims.get(epoch, ()))

    def owner(self, epoch: int) -> Claim | None:
        """The claim that owns `epoch` now: the last accepted one."""
        claims = self._claims.get(epoch)
        return claims[-1] if claims else None

    def is_claimed(self, epoch: int) -> bool:
        """Whether somebody has computed `epoch` and claimed it."""
        return bool(self._claims.get(epoch))

    def answer(self, epoch: int, name: str) -> Answers | None:
        """The answer to question `name` of `epoch`; None if it is not decided yet, or forgotten."""
        parts = self._answers.get(epoch, {}).get(name)
        return None if parts is None else tuple(answer for part in parts for answer in part.answers)

    def answered_by(self, epoch: int, name: str) -> str | None:
        """Who proposed the answer that counts."""
        parts = self._answers.get(epoch, {}).get(name)
        return None if parts is None else parts[0].proposer

    def forget_before(self, epoch: int) -> None:
        """Drop what was decided about epochs before `epoch`, to bound memory. The counters of the rules stay."""
        # Epochs are contiguous. A replica that catches up knows very many of them, and forgets one after the other.
        oldest = self.last_epoch + 1 - len(self._ranges)
        for old in range(oldest, min(epoch, self.last_epoch + 1)):
            del self._ranges[old]
            self._claims.pop(old, None)
            self._answers.pop(old, None)
            self._received.pop(old, None)


def _range_of(cut: Cut, starts: Offsets, offset: int, config_offset: int) -> EpochRange:
    return EpochRange(cut.epoch, starts, cut.ends, cut.time_ms, cut.seed, offset, config_offset, cut.barrier)
