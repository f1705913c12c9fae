"""An error of Java's without an SQLSTATE may be anybody's: one that ends the same epoch again and again is the job's.

A restart helps where a server was away, and none of these counts. It does not help where a library raises about the epoch's
records, or its class is missing; and nothing but the repetition shows that, where no record can be found that fails alone.
"""

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from pyspark.errors import StreamingQueryException

from tandem.engine.faults import java_error
from tandem.logs import get_logger

_log = get_logger(__name__)

MOST_TRIES: Final = 3
"""In a row, each with a restart behind it."""
FOLDER: Final = "failed-epochs"
"""Beside the incarnations' folders, with a file for each replica."""

_NAME: Final = re.compile(r"^(?:Caused by: )?((?:[a-z_]\w*\.)+[A-Z][\w$]*)", re.MULTILINE)
_OF_SURROUNDINGS: Final = re.compile(
    r"^(?:java\.(?:io|net|nio|sql|rmi)|javax\.(?:net|naming|sql)|java\.util\.concurrent"
    r"|org\.apache\.(?:hadoop|kafka|zookeeper|http|thrift|parquet\.hadoop)|org\.rocksdb|org\.postgresql|io\.(?:netty|grpc)"
    r"|software\.amazon|com\.amazonaws|com\.google\.(?:cloud|api)|com\.azure|com\.microsoft\.azure)\."
    r"|Memory|Interrupted|Timeout|VirtualMachine|ExecutorLost|Py4J"
)
_WORDS: Final = re.compile(
    r"OutOfMemory|Interrupted|ExecutorLost|worker exited|time[ds]?[ -]?out|connect|unreachable|unavailable|throttl"
    r"|too many requests|(?:http|status)\W*(?:code\W*)?5\d\d|broken pipe|reset by peer|refused|no space|no room|quota|disk"
    r"|shut ?down|stopped|cancel",
    re.IGNORECASE,
)
_CHANGING: Final = re.compile(r"0x…|@[0-9a-f]+|[0-9]+")


def unnamed_fault(error: BaseException) -> str | None:
    """What Java raised, in a line, if it has no SQLSTATE and nothing in it speaks of servers, files, memory or an end.

    None if it is another error: a restart may help against that however often it comes.
    """
    if not isinstance(error, StreamingQueryException) or (said := java_error(error)) is None:
        return None
    texts, cause = [said], getattr(error, "_cause", None)
    while cause is not None:
        texts += [str(cause), getattr(cause, "_stackTrace", None) or ""]
        cause = getattr(cause, "_cause", None)
    names = [name for text in texts for name in _NAME.findall(text)]
    if "SQLSTATE" in said or _WORDS.search(said) or any(_OF_SURROUNDINGS.search(name) for name in names):
        return None
    return said


@dataclass(frozen=True, slots=True)
class Tries:
    """How often in a row `epoch` ended with `said`, whose numbers and addresses do not count."""

    epoch: int = -1
    said: str = ""
    count: int = 0

    def after(self, epoch: int, said: str) -> "Tries":
        """With the try that has just failed."""
        alike = _CHANGING.sub("#", said)
        return Tries(epoch, alike, self.count + 1 if (epoch, alike) == (self.epoch, self.said) else 1)


class FailedEpochs:
    """Remembers over restarts what a replica's epochs ended with; None as `file`: over nothing, as where there is no disk.

    It is lost with the disk, and what cannot be written counts as the first try: then a replica is restarted as before.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file

    def is_of_the_job(self, epoch: int, error: BaseException) -> str | None:
        """What was raised, if `epoch` has now ended with it `MOST_TRIES` times in a row; then the count begins again."""
        said = unnamed_fault(error)
        if said is None:
            return None
        tries = self._read().after(epoch, said)
        ends = tries.count >= MOST_TRIES
        self._write(Tries() if ends else tries)
        _log.warning("epoch_failed_again", epoch=epoch, reason=said, tries=tries.count, most=MOST_TRIES)
        return said if ends else None

    def _read(self) -> Tries:
        try:
            return Tries(**json.loads(self._file.read_text())) if self._file is not None else Tries()
        except (OSError, ValueError, TypeError):
            return Tries()

    def _write(self, tries: Tries) -> None:
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            temporary = self._file.with_suffix(".tmp")
            temporary.write_text(json.dumps(asdict(tries)))
            temporary.replace(self._file)
        except OSError as error:
            _log.warning("tries_not_counted", reason=str(error))
