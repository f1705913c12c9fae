"""Reading a job's state without touching the job, and dividing it into another number of partitions."""

from tandem.process.errors import StateError
from tandem.state.errors import (
    BadKeyError,
    NoStateError,
    RescaleError,
    StatelessJobError,
    UnknownOperatorError,
    UnknownPartError,
    UnknownTableError,
)
from tandem.state.operators import Operator, Part, all_parts, find_operator, parts_of
from tandem.state.places import StatePlace, live_state, saved_state
from tandem.state.reader import Page, Shape, StateReader
from tandem.state.rescale import rescale, rescale_savepoint
from tandem.state.session import state_session
from tandem.state.tables import KeptTable, find_table, tables_of

__all__ = [
    "BadKeyError",
    "KeptTable",
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
    "UnknownTableError",
    "all_parts",
    "find_operator",
    "find_table",
    "live_state",
    "parts_of",
    "rescale",
    "rescale_savepoint",
    "saved_state",
    "state_session",
    "tables_of",
]
