"""What is wrong with a manifest: one problem per mistake, all of them in one error."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic_core import PydanticCustomError

REFUSAL = "manifest_refusal"
QUOTE_IT = "Put it in quotes: "
"""Begins the remedy for a number, a truth value or a date where a text belongs."""

Location = tuple[str | int, ...]
"""The way from the document's root to a value: keys of mappings and indices of lists."""


@dataclass(frozen=True)
class Issue:
    """A mistake at `at`, not yet with a line.

    `concerns` are the values that the mistake follows from (default: `at`). If one of them could not be read at all, the
    issue says nothing new and is left out.
    """

    at: Location
    message: str
    remedy: str
    concerns: tuple[Location, ...] = ()


@dataclass(frozen=True)
class Problem:
    """A mistake as the user sees it.

    `path` is Kubernetes' notation (`spec.sources[0].schema`), empty if the file as a whole is meant; `line` counts from 1
    and is None if the manifest did not come from a file.
    """

    path: str
    line: int | None
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path}: {self.detail}" if self.path else self.detail

    @property
    def detail(self) -> str:
        """Message and remedy as two sentences."""
        return f"{self.message}. {self.remedy}" if self.remedy else self.message


class ManifestError(ValueError):
    """A manifest that cannot be used; `problems` holds everything that is wrong with it, in the order of its lines."""

    def __init__(self, source: Path | None, problems: Iterable[Problem]) -> None:
        self.source = source
        self.problems = tuple(sorted(problems, key=lambda problem: (problem.line or 0, problem.path)))
        super().__init__("\n".join(self.lines()))

    def lines(self) -> list[str]:
        """One `file:line: field: message. remedy` per problem."""
        return [f"{place(self.source, problem.line)}{problem}" for problem in self.problems]


def place(source: Path | None, line: int | None) -> str:
    """`file:line: `, or what is known of it."""
    return "".join(f"{part}:" for part in (source, line) if part is not None) + (" " if source or line else "")


def dotted(location: Location) -> str:
    """Kubernetes' notation of a location; keys that are no plain words stand in brackets: `properties[sasl.password]`."""
    text = ""
    for part in location:
        if isinstance(part, str) and re.fullmatch(r"[A-Za-z_]\w*", part):
            text += f".{part}" if text else part
        else:
            text += f"[{part}]"
    return text


def refusal(message: str, remedy: str) -> PydanticCustomError:
    """The error for a validator of a single value to raise."""
    return PydanticCustomError(REFUSAL, "{message}", {"message": message, "remedy": remedy})
