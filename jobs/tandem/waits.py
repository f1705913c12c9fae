"""What a process of a job is at for too long: said in its log, in its report and as a metric, whatever the work is.

Each piece of work that may never end is a `Task`. Its thread says what it begins, at which step it is, and that it has
ended; that costs microseconds. Another thread looks at all tasks every few seconds, and speaks of those that last.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from tandem.background import Background
from tandem.logs import get_logger

_log = get_logger(__name__)

SAID_AFTER_S: Final = 45.0
LOOK_EVERY_S: Final = 5.0
SAID_AGAIN_S: Final = 60.0


def _nothing_more() -> str:
    return ""


@dataclass(frozen=True, slots=True)
class _Work:
    """What a task is at since `since_s`, in thread `thread`; `more` finds out what else is to be said of it."""

    what: str
    step: str
    since_s: float
    thread: int
    more: Callable[[], str]


class Task:
    """One piece of work after the other, e.g. epochs. Its methods return at once, and may be called from any thread.

    `beside` : nobody waits for it to get the job's output, e.g. a snapshot.
    """

    def __init__(self, beside: bool = False, clock_s: Callable[[], float] = time.monotonic) -> None:
        self.beside = beside
        self._clock_s = clock_s
        self._work: _Work | None = None

    def begins(self, what: str, step: str = "") -> None:
        """The next piece of work. If it is what is under way already, it goes on: that lasts since it began first."""
        work = self._work
        if work is not None and work.what == what:
            self.at(step)
        else:
            self._work = _Work(what, step, self._clock_s(), threading.get_ident(), _nothing_more)

    def at(self, step: str, more: Callable[[], str] = _nothing_more) -> None:
        """The work under way has come to `step`. `more` : called when it lasts, by another thread."""
        work = self._work
        if work is not None:
            self._work = _Work(work.what, step, work.since_s, threading.get_ident(), more)

    def ends(self) -> None:
        """Nothing is under way any more."""
        self._work = None

    @property
    def work(self) -> _Work | None:
        """What is under way."""
        return self._work


class Waits(Background):
    """The tasks of a process, and the thread that looks at them.

    `said_after_s` : what lasts longer is spoken of.
    `line_of` : a thread's id → the line of the user's code that it is at; "": none.
    `clock_s` : any monotonic clock, s.
    """

    def __init__(
        self,
        said_after_s: float = SAID_AFTER_S,
        line_of: Callable[[int], str] = lambda _: "",
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__("waits")
        self._said_after_s, self._line_of, self._clock_s = said_after_s, line_of, clock_s
        self._tasks: list[Task] = []
        self._words: dict[Task, tuple[_Work, str]] = {}
        self._logged: dict[Task, tuple[_Work, float]] = {}

    def task(self, beside: bool = False) -> Task:
        """A task of its own for one piece of work at a time."""
        task = Task(beside, self._clock_s)
        self._tasks = [*self._tasks, task]
        return task

    @property
    def words(self) -> str:
        """What the job's output waits for in this process, for how long, and what to do; "": nothing that lasts."""
        return self._said(beside=False)

    @property
    def words_beside(self) -> str:
        """The same of what nobody waits for to get the output."""
        return self._said(beside=True)

    def seconds(self, beside: bool = False) -> float:
        """For how long the oldest of the work has lasted that is spoken of; 0: none is."""
        found = (self._lasting(task) for task in self._tasks if task.beside == beside)
        return max((self._clock_s() - work.since_s for work in found if work is not None), default=0.0)

    def look(self) -> None:
        """Find words for what lasts; log what is new, and what has ended. Called again and again, by one thread."""
        for task in self._tasks:
            work = self._lasting(task)
            if work is None:
                self._words.pop(task, None)
            else:
                self._words[task] = (work, self._in_words(work))
            self._log(task, work)

    def _lasting(self, task: Task) -> _Work | None:
        work = task.work
        return work if work is not None and self._clock_s() - work.since_s >= self._said_after_s else None

    def _said(self, beside: bool) -> str:
        said = []
        for task in self._tasks:
            work, known = self._lasting(task), self._words.get(task)
            if work is None or task.beside != beside:
                continue
            # What was found out at the last look holds while the step is the same.
            is_same = known is not None and _is_same(known[0], work) and known[0].step == work.step
            said.append(
                known[1] if known is not None and is_same else self._in_words(replace(work, more=_nothing_more))
            )
        return "; ".join(said)

    def _in_words(self, work: _Work) -> str:
        words = f"{work.what}: {work.step}" if work.step else work.what
        words += f", for {_time(self._clock_s() - work.since_s)}"
        line = _asked(lambda: self._line_of(work.thread))
        words += f"; the job's code is at {line}" if line else ""
        more = _asked(work.more)
        return f"{words}. {more}" if more else words

    def _log(self, task: Task, work: _Work | None) -> None:
        now, logged = self._clock_s(), self._logged.get(task)
        if logged is not None and (work is None or not _is_same(logged[0], work)):
            _log.info("waits_no_more", what=logged[0].what)
            logged = None
            del self._logged[task]
        if work is not None and (logged is None or now - logged[1] >= SAID_AGAIN_S):
            _log.warning("still_waiting", waits_for=self._words[task][1])
            self._logged[task] = (work, now)

    def _run(self) -> None:
        while not self._stopped.wait(LOOK_EVERY_S):
            self.look()


def _asked(what: Callable[[], str]) -> str:
    """What it says; "" where it fails: nothing that is only asked for may end the thread that looks, or hide a report."""
    try:
        return what()
    except Exception as error:
        _log.debug("waits_unknown", reason=repr(error))
        return ""


def _is_same(one: _Work, other: _Work) -> bool:
    return one.what == other.what and one.since_s == other.since_s


def _time(seconds: float) -> str:
    """In steps, so that a status that quotes it is not written every few seconds."""
    if seconds < 60:
        return f"{seconds // 10 * 10:.0f} s"
    return f"{seconds // 60:.0f} min" if seconds < 7_200 else f"{seconds // 3_600:.0f} h"
