"""What ruamel makes of the values of a YAML document, with what it cannot make anything of as errors with a line."""

import re
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.constructor import ConstructorError, RoundTripConstructor
from ruamel.yaml.nodes import ScalarNode

_PREFIX: Final = "tag:yaml.org,2002:"
_UNSUPPORTED: Final = ("binary", "omap", "pairs", "set")
"""Of YAML's own tags; they are treated as all others."""
_TRUTH: Final = [
    case(word) for word in ("y", "yes", "on", "n", "no", "off") for case in (str.lower, str.upper, str.title)
]
_OTHER_TEXT: Final = re.compile(rf"{'|'.join(_TRUTH)}|[-+]?0b[01_]+")
_OCTAL: Final = re.compile(r"[-+]?0[0-7]+")
_NAMES: Final = {"int": "a whole number", "float": "a number", "bool": "a truth value"}


class DateText(str):
    """The text of what YAML takes for a date or a time, whether there is such a day or not."""

    __slots__ = ()


class OtherText(str):
    """A text without quotes that YAML 1.1, and so kubectl, takes for a truth value, as `no`, or for a binary number."""

    __slots__ = ()


class OtherNumber(int):
    """A number that YAML 1.1, and so kubectl, takes for an octal one; `written` is its text, as `010`."""

    written: str = ""


class _Constructor(RoundTripConstructor):
    def construct_non_recursive_object(self, node: Any, tag: str | None = None) -> Any:
        try:
            return super().construct_non_recursive_object(node, tag)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            kind = str(node.tag).removeprefix(_PREFIX)
            problem = f"there is what cannot be read as {_NAMES.get(kind, kind)}"
            raise ConstructorError(None, None, problem, node.start_mark) from error


def _date(_: RoundTripConstructor, node: ScalarNode) -> DateText:
    return DateText(node.value)


def _text(constructor: RoundTripConstructor, node: ScalarNode) -> Any:
    if node.style is None and _OTHER_TEXT.fullmatch(node.value):
        return OtherText(node.value)
    return RoundTripConstructor.construct_yaml_str(constructor, node)


def _number(constructor: RoundTripConstructor, node: ScalarNode) -> Any:
    value = RoundTripConstructor.construct_yaml_int(constructor, node)
    if _OCTAL.fullmatch(node.value) and int(node.value, 8) != value:
        value = OtherNumber(value)
        value.written = node.value
    return value


_Constructor.yaml_constructors = {
    tag: construct
    for tag, construct in RoundTripConstructor.yaml_constructors.items()
    if tag not in [_PREFIX + name for name in _UNSUPPORTED]
} | {_PREFIX + "timestamp": _date, _PREFIX + "str": _text, _PREFIX + "int": _number}


def reader() -> YAML:
    """Reads documents of YAML 1.2. What it cannot read are `YAMLError`, and `RecursionError`: too many brackets."""
    yaml = YAML(typ="rt", pure=True)
    yaml.Constructor = _Constructor
    return yaml
