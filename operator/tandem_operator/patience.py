"""Which refusal of the API server is reported: what may pass by itself, only after several passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tandem.logs import get_logger
from tandem_operator.actions import Action
from tandem_operator.api import ApiError
from tandem_operator.store import Key

_log = get_logger(__name__)

PATIENCE: Final = 3
"""So many passes in a row may fail at an API server that is busy or out of order before that is reported."""


class Patience:
    """With one operator's jobs. Used in the event loop only."""

    def __init__(self) -> None:
        self._put_off: dict[Key, int] = {}
        self._conflicts: dict[Key, int] = {}

    def worth_saying(self, key: Key, refused: Sequence[tuple[Action, ApiError]]) -> tuple[Action, ApiError] | None:
        """The refusal of a pass that is to be reported; one that may pass by itself, not at once."""
        lasting = [one for one in refused if not one[1].is_passing]
        self._put_off[key] = self._put_off.get(key, 0) + 1 if refused and not lasting else 0
        if not refused or 0 < self._put_off[key] <= PATIENCE:
            return None
        return (lasting or refused)[0]

    def is_conflict(self, key: Key, error: ApiError) -> bool:
        """Whether a status was refused since somebody has changed the job meanwhile. If that does not pass, it is logged."""
        if error.reason != "Conflict":
            return False
        self._conflicts[key] = self._conflicts.get(key, 0) + 1
        if self._conflicts[key] > PATIENCE:
            count = self._conflicts[key]
            _log.warning(
                "status_conflicts", namespace=key.namespace, job_name=key.name, in_a_row=count, error=str(error)
            )
        return True

    def agreed(self, key: Key) -> None:
        """The API server has taken in what was written of the job."""
        self._conflicts.pop(key, None)

    def forget(self, key: Key) -> None:
        """The job is gone."""
        self._put_off.pop(key, None)
        self._conflicts.pop(key, None)
