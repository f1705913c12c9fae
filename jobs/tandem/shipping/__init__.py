"""State shipping: what each epoch adds to a checkpoint goes through a Kafka topic to its followers."""

from tandem.shipping.bases import Bases, FirstOf, LocalBases, StoredBases, Wanted
from tandem.shipping.errors import DeltaError, DeltaGapError, ShippingError, UnknownStateError
from tandem.shipping.follower import Follower
from tandem.shipping.settings import FollowerSettings
from tandem.shipping.shipper import ShippedState, Shipper, ShipperSettings
from tandem.shipping.state import FollowedState
from tandem.shipping.values import Delta, DeltaFile, StateIdentity
from tandem.shipping.verifier import Trial, Verdicts, Verifier

__all__ = [
    "Bases",
    "Delta",
    "DeltaError",
    "DeltaFile",
    "DeltaGapError",
    "FirstOf",
    "FollowedState",
    "Follower",
    "FollowerSettings",
    "LocalBases",
    "ShippedState",
    "Shipper",
    "ShipperSettings",
    "ShippingError",
    "StateIdentity",
    "StoredBases",
    "Trial",
    "UnknownStateError",
    "Verdicts",
    "Verifier",
    "Wanted",
]
