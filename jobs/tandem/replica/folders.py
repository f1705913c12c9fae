"""The folders of an incarnation: locked while it lives, and how much of them it leaves behind."""

import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from tandem.replica.leftovers import alive, newest_epoch, remove_of_the_dead, remove_of_the_moment, remove_predecessors

SCRATCH: Final = "scratch"
"""In an incarnation's folder on its machine: Spark's files of the moment, and the archive of the job's code."""


class Folders:
    """`main`: with the checkpoint; `near`: on this machine, for files of the moment. Both may be the same.
    `java` : for temporary files of the JVM.

    `restored_epoch` : the epoch of the state that this incarnation went on from, −1: none.
    """

    def __init__(self, main: Path, near: Path, java: Path) -> None:
        self._main, self._java = main, java
        self._all = tuple(dict.fromkeys((main, near, java)))
        self._tidied = False
        self._locks = ExitStack()
        self.restored_epoch = -1
        for folder in self._all:
            self._locks.enter_context(alive(folder))
            remove_of_the_dead(folder)

    def tidy_up(self) -> None:
        """Remove, once, what this replica's earlier incarnations left: not before it is at the head, or that comes later."""
        if not self._tidied:
            for folder in self._all:
                remove_predecessors(folder)
        self._tidied = True

    def leave(self) -> None:
        """A state that is not newer than the one that this incarnation began with is of no use beside that one."""
        for folder in self._all:
            remove_of_the_moment(folder)
        if not self._tidied and newest_epoch(self._main) <= self.restored_epoch:
            shutil.rmtree(self._main, ignore_errors=True)
        shutil.rmtree(self._java, ignore_errors=True)
        self._locks.close()
