"""The headers that every output row carries: its epoch, its index in it, and the job, whose epochs these are.

A marker may have one, too: that each input record of its epoch is one row, or a dead letter, as the job's plan shows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import Final, cast

from confluent_kafka import Message

EPOCH_HEADER = "tandem.epoch"
INDEX_HEADER = "tandem.index"
JOB_HEADER = "tandem.job"
ONE_ROW_HEADER = "tandem.one-row-per-record"


@dataclass(frozen=True, order=True, slots=True)
class RowId:
    """Which row of the job's output a record is. Rows are published in this order; a repeated row has the same id."""

    epoch: int
    index: int


HeaderValue = str | bytes | None
Headers = Sequence[tuple[str, HeaderValue]] | Mapping[str, HeaderValue] | None


class UnreadableHeaderError(ValueError):
    """The name of one of a record's headers is no UTF-8."""


HEADER_BYTES: Final = 128
"""What a header costs a reader beside its name and value: objects of Python, and a place in a list."""

_MOST_KNOWN: Final = 100_000
_headers: Final = methodcaller("headers")
"""Called from C, which sees the error at once: a call that Python has specialised hands out the list, and fails later."""
_unreadable: dict[tuple[int, str | None, int | None, int | None], None] = {}


def readable_headers(message: Message) -> list[tuple[str, bytes | None]] | None:
    """The headers of a record, as often as wanted; None if it has none. Raises `UnreadableHeaderError`.

    Use this or `headers_of`, never `Message.headers`: where a name is no UTF-8, confluent-kafka raises at the first call,
    and ends the process at the second, for it hands out the list that it had not finished.
    """
    if not _unreadable or _known(message) not in _unreadable:
        try:
            return cast("list[tuple[str, bytes | None]] | None", _headers(message))
        except (SystemError, UnicodeDecodeError):
            if len(_unreadable) >= _MOST_KNOWN:
                del _unreadable[next(iter(_unreadable))]
            _unreadable[_known(message)] = None
    raise UnreadableHeaderError("the name of one of its headers is no UTF-8")


def headers_of(message: Message) -> list[tuple[str, bytes | None]] | None:
    """A record's headers; None if it has none, or one whose name is no UTF-8.

    Anybody may write such a record into an input or an output topic; no row of Tandem's has one.
    """
    try:
        return readable_headers(message)
    except UnreadableHeaderError:
        return None


def content_bytes(message: Message) -> int:
    """Bytes that a record's content takes in a reader: its key, value and headers, of which it may have many."""
    key, headers = message.key(), headers_of(message)
    count = len(message) + (len(key) if key else 0)
    if headers:
        count += sum(HEADER_BYTES + len(name) + len(value or b"") for name, value in headers)
    return count


def _known(message: Message) -> tuple[int, str | None, int | None, int | None]:
    return id(message), message.topic(), message.partition(), message.offset()


def row_id(headers: Headers) -> RowId | None:
    """The id in a record's headers; None for a record that no job of Tandem wrote."""
    epoch = index = None
    for name, value in _items(headers):
        if name == EPOCH_HEADER and epoch is None:
            epoch = _number(value)
        elif name == INDEX_HEADER and index is None:
            index = _number(value)
    return None if epoch is None or index is None else RowId(epoch, index)


def job_of(headers: Headers) -> str | None:
    """The job that wrote a record; None if it does not say: it is older than this header, or no job of Tandem wrote it."""
    value = next((value for name, value in _items(headers) if name == JOB_HEADER), None)
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def says_one_row(headers: Headers) -> bool:
    """Whether a marker says that each input record of its epoch is one row, or a dead letter."""
    return any(name == ONE_ROW_HEADER for name, _ in _items(headers))


def _items(headers: Headers) -> Iterable[tuple[str, HeaderValue]]:
    return headers.items() if isinstance(headers, Mapping) else headers or ()


def _number(text: HeaderValue) -> int | None:
    digits = text.decode(errors="replace") if isinstance(text, bytes) else text or ""
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None
