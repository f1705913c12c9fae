"""What a follower follows, and when it looks for another base."""

from dataclasses import dataclass

from tandem.shipping.values import StateIdentity


@dataclass(frozen=True, slots=True)
class FollowerSettings:
    """`identity`: whose state; that of another job, configuration or format is not used.

    `generation`: whose digests a proof is compared with; markers of others only say that an epoch is published.

    `longest_chain`: with so many changes after its full state, a shorter base is looked for, every `shorten_every_ms`;
    and a newer one, while so many batches' epochs are published whose deltas have not come.

    `retry_ms`: how often a base is looked for while one is needed.
    """

    commits_topic: str
    checkpoints_topic: str
    identity: StateIdentity
    generation: int = 0
    longest_chain: int = 30
    shorten_every_ms: float = 5_000.0
    retry_ms: float = 1_000.0
