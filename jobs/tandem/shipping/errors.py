"""What can be wrong with shipped state."""


class ShippingError(Exception):
    """Anything that keeps an epoch's changes from being shipped or applied."""


class DeltaError(ShippingError):
    """A record of the checkpoints topic that is torn, was altered, or is none of ours."""


class DeltaGapError(ShippingError):
    """A delta does not continue the state: an epoch or a state store is missing, or its files were not shipped."""


class UnknownStateError(ShippingError):
    """The state's files are not of the format whose changes can be shipped."""


class NotCommittedError(ShippingError):
    """The checkpoint does not hold this epoch (yet)."""
