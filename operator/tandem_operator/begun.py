"""What a pass over a job begins with, and what ends it early."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from tandem_operator.api import ApiError
from tandem_operator.store import Fingerprint, Key
from tandem_operator.trim import Body

_T = TypeVar("_T")

STEADY_S: Final = 10.0
"""How often a job is looked at that is as it should be."""
RESTLESS_S: Final = 2.0
"""And one that is on its way."""
AT_ONCE_S: Final = 0.1
"""And one of which a pass has just learnt that it is not as it seemed."""


@dataclass(frozen=True, slots=True)
class Begun:
    """What a pass over a job began with, all of one moment. `fingerprint`: of the store's pods; `now_s`: the time."""

    key: Key
    uid: str
    body: Body
    fingerprint: Fingerprint
    now_s: float

    @property
    def version(self) -> str:
        """Of the job."""
        return str(self.body["metadata"].get("resourceVersion", ""))


@dataclass(frozen=True, slots=True)
class Clocks:
    """`now_ms`: wall clock, ms since 1970, best the API server's. `monotonic_s`: any monotonic clock, s."""

    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    monotonic_s: Callable[[], float] = time.monotonic


class UnseenError(Exception):
    """The API server does not let the operator see what there is of a job. `refused`: what it said."""

    def __init__(self, refused: ApiError) -> None:
        super().__init__(str(refused))
        self.refused = refused


async def seeing(looking: Awaitable[_T]) -> _T:
    """Raises `UnseenError` for a refusal that lasts, `ApiError` for all others."""
    try:
        return await looking
    except ApiError as error:
        if error.status == 403 and not error.is_terminating:
            raise UnseenError(error) from error
        raise
