"""A thread that looks at something now and then, beside a job that goes on whatever it finds."""

from __future__ import annotations

import threading
from collections.abc import Callable

from confluent_kafka import KafkaException

from tandem.kafka.errors import TandemKafkaError
from tandem.logs import get_logger
from tandem.waits import Task

_log = get_logger(__name__)

EVERY_S = 60.0


class Looks:
    """Looks at once and then every `every_s`; a look that fails is logged as `<what>_unknown`, and nothing else happens."""

    def __init__(self, what: str, look: Callable[[], None], every_s: float = EVERY_S, task: Task | None = None) -> None:
        self._what = what
        self._task = task or Task()
        self._look = look
        self._every_s = every_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=what, daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more; a look under way ends by itself."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._task.begins(f"a look at the {self._what}")
            try:
                self._look()
            except (KafkaException, TandemKafkaError, ValueError, OSError) as error:
                _log.info(f"{self._what}_unknown", reason=str(error))
            except Exception as error:  # of a store, or a flaw: nothing here may stop the job
                _log.warning(f"{self._what}_unknown", reason=repr(error))
            self._task.ends()
            self._stopped.wait(self._every_s)
