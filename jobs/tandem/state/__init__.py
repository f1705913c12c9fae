"""Reading a job's state without touching the job, and dividing it into another number of partitions."""

from tandem.state.errors import (
    BadKeyError,
    NoStateError,
    RescaleError,
    StateError,
    StatelessJobError,
    UnknownOperatorError,
    UnknownPartError,
)
from tandem.state.inputs import inputs_of
from tandem.state.operators import Operator, Part, all_parts, find_operator, parts_of
from tandem.state.places import StatePlace, live_state, saved_state
from tandem.state.reader import Page, Shape, StateReader
from tandem.state.rescale import rescale, rescale_savepoint
from tandem.state.session import state_session

__all__ = [
    "BadKeyError",
    "NoStateError",
    "Operator",
    "Page",
    "Part",
    "RescaleError",
    "Shape",
    "StateError",
    "StatePlace",
    "StateReader",
    "StatelessJobError",
    "UnknownOperatorError",
    "UnknownPartError",
    "all_parts",
    "find_operator",
    "inputs_of",
    "live_state",
    "parts_of",
    "rescale",
    "rescale_savepoint",
    "saved_state",
    "state_session",
]
