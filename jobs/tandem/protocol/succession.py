"""How a generation follows another: when its first replica proposes its config. Pure."""

from collections.abc import Collection

from tandem.protocol.decisions import Decisions
from tandem.protocol.values import Config

_AT_HEAD_EPOCHS = 1


class SuccessionError(Exception):
    """The generation cannot follow: another one did."""


class Succession:
    """One replica's part in making `candidate` the job's config, once it has reached the log's head.

    `again_ms` : a proposal that the log does not show by then is repeated.
    """

    def __init__(self, candidate: Config, again_ms: float = 1_000.0) -> None:
        self._candidate = candidate
        self._again_ms = again_ms
        self._proposed_ms = -float("inf")

    def is_over(self, decisions: Decisions) -> bool:
        """Whether the log has accepted it. Raises `SuccessionError` if it accepted another one instead."""
        accepted = decisions.config
        if accepted is None or accepted.generation < self._candidate.generation:
            return False
        if accepted.descent != self._candidate.descent:
            raise SuccessionError(
                f"generation {accepted.generation} of the job has begun with another config, by {accepted.proposer}"
            )
        return True

    def next_proposal(self, decisions: Decisions, last_computed: int | None, now_ms: float) -> Config | None:
        """What to append to the ordering log now, if anything.

        `last_computed` : None until the candidate has computed an epoch: only that shows that its code can go on from the
        state of the savepoint.
        """
        at_head = last_computed is not None and last_computed >= decisions.last_epoch - _AT_HEAD_EPOCHS
        if self.is_over(decisions) or not at_head or now_ms - self._proposed_ms < self._again_ms:
            return None
        self._proposed_ms = now_ms
        return self._candidate


def other_topics(read: Collection[str], wanted: Collection[str]) -> str:
    """How the inputs that a job wants differ from those that it has read, in words; "": they are the same.

    >>> other_topics({"orders", "items"}, {"items", "refunds"})
    'new is refunds, missing is orders'
    """
    new = [f"new is {topic}" for topic in sorted({*wanted} - {*read})]
    return ", ".join([*new, *(f"missing is {topic}" for topic in sorted({*read} - {*wanted}))])
