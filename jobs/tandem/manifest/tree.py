"""YAML text → plain values, and the line of each of them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq, TaggedScalar
from ruamel.yaml.composer import ComposerError
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from tandem.manifest.problems import QUOTE_IT, Issue, Location
from tandem.manifest.yaml_values import DateText, OtherNumber, OtherText, reader

_QUOTES = "Check the indentation, and put texts that contain ': ', '#', '@' or braces in quotes"


class YamlError(ValueError):
    """The text is not one YAML document; `line` counts from 1."""

    def __init__(self, line: int | None, message: str, remedy: str) -> None:
        super().__init__(message)
        self.line, self.message, self.remedy = line, message, remedy


@dataclass(frozen=True)
class LineMap:
    """Where in a file the values of a manifest stand.

    `otherwise` : the texts of those that YAML 1.1 reads otherwise than YAML 1.2, as `no` and `010`.
    """

    lines: Mapping[Location, int] = field(default_factory=dict)
    otherwise: Mapping[Location, str] = field(default_factory=dict)

    def line_of(self, location: Location) -> int | None:
        """The line (from 1) of the key at `location`; of what would contain it, if it is not there."""
        for length in range(len(location), -1, -1):
            if location[:length] in self.lines:
                return self.lines[location[:length]]
        return None


@dataclass(frozen=True)
class Document:
    """One YAML document: plain dicts, lists, strings and numbers, their lines, and what no manifest may contain."""

    value: Any
    lines: LineMap
    issues: tuple[Issue, ...]


def read(text: str) -> Document:
    """Read one YAML 1.2 document.

    Raises `YamlError`: not YAML, no document, or several.
    """
    values = _Reader()
    try:
        value = values.plain(_root(text), (), first_line(text))
    except YAMLError as error:
        raise _explained(error) from error
    except RecursionError as error:
        raise YamlError(None, "there are too many brackets or levels within each other", _QUOTES) from error
    return Document(value, LineMap(values.lines, values.otherwise), tuple(values.issues))


def scalar_at(text: str, location: Location) -> str | None:
    """The text of a value of the document, as it is written there; None if there is no such value, or no plain one."""
    try:
        node = reader().compose(text)
    except YAMLError:
        return None
    for part in location:
        if isinstance(node, MappingNode):
            node = next((value for key, value in node.value if key.value == str(part)), None)
        elif isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
        else:
            return None
    return str(node.value) if isinstance(node, ScalarNode) else None


def first_line(text: str) -> int:
    """The line (from 1) of the first content that is no comment."""
    rows = (number for number, row in enumerate(text.splitlines(), 1) if re.match(r"\s*[^\s#%-]", row))
    return next(rows, 1)


def _root(text: str) -> Any:
    """The one document of a text; empty ones beside it, as templates leave them, do not count."""
    try:
        return reader().load(text)
    except ComposerError:
        found = [one for one in reader().load_all(text) if one is not None]
        if len(found) != 1:
            raise
        return found[0]


class _Reader:
    def __init__(self) -> None:
        self.lines: dict[Location, int] = {}
        self.issues: list[Issue] = []
        self.otherwise: dict[Location, str] = {}

    def plain(self, node: object, at: Location, line: int) -> Any:
        self.lines[at] = line
        if tag := _tag(node):
            self.issues.append(Issue(at, f"has the YAML tag {tag}", "Tags are not supported: remove it"))
        if isinstance(node, CommentedMap):
            return {
                _key(key): self.plain(value, (*at, _key(key)), _line(node, key, line)) for key, value in node.items()
            }
        if isinstance(node, CommentedSeq):
            return [self.plain(value, (*at, index), _line(node, index, line)) for index, value in enumerate(node)]
        if isinstance(node, TaggedScalar):
            return str(node.value)
        if isinstance(node, OtherText | OtherNumber):
            self.otherwise[at] = node if isinstance(node, OtherText) else node.written
        if isinstance(node, DateText):
            self.issues.append(Issue(at, f"must be a string, not the date {node}", f'{QUOTE_IT}"{node}"'))
        return _scalar(node)


def _tag(node: object) -> str | None:
    if not isinstance(node, CommentedMap | CommentedSeq | TaggedScalar) or node.tag.value is None:
        return None
    return str(node.tag.value)


def _key(key: object) -> str | int:
    return _scalar(key) if isinstance(key, str | int) and not isinstance(key, bool) else str(key)


def _scalar(value: Any) -> Any:
    """Without the classes by which ruamel remembers quotes and notations."""
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value


def _line(node: CommentedMap | CommentedSeq, key: Any, otherwise: int) -> int:
    position = (node.lc.data or {}).get(key)
    return position[0] + 1 if position else otherwise


def _explained(error: YAMLError) -> YamlError:
    if not isinstance(error, MarkedYAMLError):
        what = str(error).splitlines()[0]
        return YamlError(None, f"no YAML: {what}", "Save the file as UTF-8 text, without control characters")
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else None
    problem = error.problem or "cannot be read"
    if isinstance(error, DuplicateKeyError):
        key = re.search(r'duplicate key "(.*?)" with', problem)
        return YamlError(line, f"the key {key[1] if key else ''} is written twice", "Keep one of them")
    if "another document" in problem:
        return YamlError(line, "there are several documents in the file", "Keep one manifest per file")
    if r"'\t'" in problem:
        return YamlError(line, "there is a tab where YAML wants spaces", "Indent with spaces")
    context = f"{error.context}, " if error.context else ""
    return YamlError(line, f"no YAML: {context}{problem}", _QUOTES)
