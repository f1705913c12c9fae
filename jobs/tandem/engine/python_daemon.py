"""Spark's daemon of Python workers, as pyspark has it, but a worker writes its stack into a file when it gets SIGUSR1.

The JVM starts it (`spark.python.daemon.module`), and it forks the workers. The stack is written by faulthandler inside of
the signal's handler, whatever the worker does or waits for; a call that the signal interrupts goes on.
"""

import faulthandler
import os
import signal
from pathlib import Path

STACKS_VARIABLE = "TANDEM_PYTHON_STACKS"
"""Names the file that the workers append to."""

if __name__ == "__main__":
    from pyspark import daemon

    if path := os.environ.get(STACKS_VARIABLE):
        # Open for as long as the process lives.
        faulthandler.register(signal.SIGUSR1, file=Path(path).open("a"), all_threads=True)  # noqa: SIM115
    daemon.manager()
