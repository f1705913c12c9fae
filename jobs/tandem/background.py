"""Something that goes on beside the rest of a process, until it is stopped."""

import threading


class Background:
    """A daemon thread that runs `_run`, which a subclass defines, and which ends soon after `_stopped` is set."""

    def __init__(self, name: str) -> None:
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end; what is under way ends by itself."""
        self._stopped.set()

    def wait(self, timeout_s: float) -> None:
        """Wait until the thread, if it was started, has ended."""
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def _run(self) -> None:
        raise NotImplementedError
