"""What bounds a replica that computes."""

from dataclasses import dataclass, field

from tandem.core.active_role import ActiveRoleSettings
from tandem.core.giving import GivingSettings


@dataclass(frozen=True, slots=True)
class ReplicaSettings:
    """What bounds a replica.

    Parameters
    ----------
    most_pending_epochs : computed and not published; when there are so many, no further one is computed. An engine that is
        much faster than a transaction would else keep so many waiting all the time: its claims bring cuts.
    most_pending_of_candidate : the same, if that is more, until its generation has begun: it publishes nothing before, and
        has to be at the head, behind all that replicas of the generation before may have left unpublished.
    giving : how far the engine is given epochs ahead, and where its batches end.
    patience_ms : how long a step may fail before the replica ends.
    active_role : how it goes.
    """

    most_pending_epochs: int = 16
    most_pending_of_candidate: int = 16
    giving: GivingSettings = field(default_factory=GivingSettings)
    patience_ms: float = 300_000.0
    active_role: ActiveRoleSettings = field(default_factory=ActiveRoleSettings)
