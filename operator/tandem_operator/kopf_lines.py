"""What kopf says is in the operator's log as other lines are, and what it repeats is there once in five minutes."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from typing import Final

from tandem.logs import Repeats, get_logger

_log = get_logger(__name__)

_SAY_S: Final = 300.0
_MOST: Final = 1000
_VARYING: Final = re.compile(r"#\d+(/\d+)?|\?\S*")
"""Of a request that failed: how often it was tried, and from which version on it would have watched."""


class KopfLines(logging.Handler):
    """Of kopf's logger. `monotonic_s`: any monotonic clock, s."""

    def __init__(self, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        super().__init__(logging.WARNING)
        self._monotonic_s = monotonic_s
        self._repeats = Repeats(_SAY_S, _MOST, lambda text: _VARYING.sub("", text))

    def emit(self, record: logging.LogRecord) -> None:
        """Say it, if the same was not said a moment ago."""
        text = record.getMessage()
        repeated = self._repeats.passes(record.name, text, self._monotonic_s())
        if repeated is None:
            return
        more = {"repeated": repeated} if repeated else {}
        _log.warning("kopf", reason=text, level_of_kopf=record.levelname, exc_info=record.exc_info, **more)

    def install(self) -> None:
        """From now on kopf's lines come here, and go nowhere else."""
        logger = logging.getLogger("kopf")
        logger.handlers, logger.propagate = [self], False
