"""Values for the tests of the protocol, in few words."""

from __future__ import annotations

from hypothesis import strategies as st

from tandem.protocol.decisions import Decisions, Verdict
from tandem.protocol.values import (
    Claim,
    Config,
    Cut,
    Determinant,
    LagReport,
    Marker,
    Offsets,
    Proposal,
    TopicPartition,
)


def at(*offsets: int, topic: str = "in") -> Offsets:
    """`at(3, 5)`: partition 0 of `in` at 3, partition 1 at 5."""
    return Offsets({TopicPartition(topic, partition): offset for partition, offset in enumerate(offsets)})


def config(*start: int, generation: int = 0) -> Config:
    """A config that begins at these offsets."""
    return Config(generation, "c0ffee", at(*start), "replica-0")


def cut(epoch: int, *ends: int, by: str = "orderer-0") -> Cut:
    """A cut of `epoch` at these offsets."""
    return Cut(epoch, at(*ends), 1_000 + epoch, 7, by)


def answer(
    epoch: int, *answers: str | None, by: str = "a", name: str = "score", part: tuple[int, int] = (0, 1)
) -> Determinant:
    """An answer of `by` to question `name` of `epoch`; `part`: which of how many."""
    return Determinant(epoch, name, *part, answers, by)


def marker(epoch: int, owner: str = "a", attempt: int = 0, digest: str = "d", skipped: bool = False) -> Marker:
    """A marker of `epoch`; its cut stands at the offset of the same number + 1, as in `decided`."""
    return Marker(epoch, attempt, owner, digest, 1, epoch + 1, skipped)


def decided(*proposals: Proposal, epochs: int = 0) -> Decisions:
    """The decisions after a config, `epochs` cuts of one record each, and then `proposals`."""
    log = Decisions()
    first: list[Proposal] = [config(0), *(cut(epoch, epoch + 1) for epoch in range(epochs))]
    for offset, proposal in enumerate([*first, *proposals]):
        log.apply(proposal, offset)
    return log


def verdicts(log: Decisions, *proposals: Proposal) -> list[Verdict]:
    """What the rule says to each."""
    return [log.apply(proposal) for proposal in proposals]


offsets = st.integers(0, 6)
names = st.sampled_from("abc")
any_positions = st.dictionaries(
    st.tuples(st.sampled_from(["in", "other"]), st.integers(0, 2)), offsets, max_size=4
).map(lambda found: Offsets({TopicPartition(*tp): offset for tp, offset in found.items()}))
any_topic_ids = st.dictionaries(st.sampled_from(["in", "other"]), st.text(max_size=3), max_size=2).map(
    lambda found: tuple(sorted(found.items()))
)
any_cut = st.builds(
    Cut, st.integers(0, 4), any_positions, st.integers(0, 9), st.integers(0, 9), names, any_topic_ids, st.booleans()
)
any_claim = st.builds(Claim, st.integers(0, 4), st.integers(0, 3), names, st.integers(0, 2))
any_config = st.builds(
    Config,
    st.integers(0, 2),
    st.text(max_size=3),
    any_positions,
    names,
    st.integers(-1, 4),
    names,
    any_topic_ids,
    st.booleans(),
)
any_progress = st.builds(LagReport, names, st.integers(0, 4), st.floats(0, 1e6).map(lambda ms: round(ms, 3)))
parts = st.tuples(st.integers(0, 2), st.integers(1, 3)).filter(lambda part: part[0] < part[1])
any_determinant = st.builds(
    lambda epoch, name, part, answers, by: Determinant(epoch, name, *part, tuple(answers), by),  # type: ignore[call-arg]
    st.integers(0, 4),
    st.sampled_from(["score", "rate"]),
    parts,
    st.lists(st.none() | st.text(max_size=3), max_size=3),
    names,
)
any_proposal = st.one_of(any_cut, any_claim, any_determinant, any_config, any_progress)
any_marker = st.builds(
    Marker,
    st.integers(0, 9),
    st.integers(0, 3),
    names,
    st.text(),
    st.integers(0, 9),
    st.integers(0, 99),
    st.booleans(),
    st.integers(0, 2),
    st.integers(0, 99),
    st.sampled_from(["", "3:1f"]),
)
