"""What ruamel makes of the values of a YAML document, with what it cannot make anything of as errors with a line."""

from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.constructor import ConstructorError, RoundTripConstructor
from ruamel.yaml.nodes import ScalarNode

_PREFIX: Final = "tag:yaml.org,2002:"
_UNSUPPORTED: Final = ("binary", "omap", "pairs", "set")
"""Of YAML's own tags; they are treated as all others."""
_NAMES: Final = {"int": "a whole number", "float": "a number", "bool": "a truth value"}


class DateText(str):
    """The text of what YAML takes for a date or a time, whether there is such a day or not."""

    __slots__ = ()


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


_Constructor.yaml_constructors = {
    tag: construct
    for tag, construct in RoundTripConstructor.yaml_constructors.items()
    if tag not in [_PREFIX + name for name in _UNSUPPORTED]
} | {_PREFIX + "timestamp": _date}


def reader() -> YAML:
    """Reads documents of YAML 1.2. What it cannot read are `YAMLError`, and `RecursionError`: too many brackets."""
    yaml = YAML(typ="rt", pure=True)
    yaml.Constructor = _Constructor
    return yaml
