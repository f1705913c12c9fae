"""Amounts of a resource, as Kubernetes writes them: `500m`, `2`, `1.5Gi`."""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from tandem.manifest.problems import refusal

PATTERN: Final = r"^(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?[0-9]{1,2}))?$"
_LONGEST: Final = 32
_REMEDY: Final = "Write it as Kubernetes does: 500m or 2 for cpu, 512Mi or 2Gi for memory"
_FACTORS: Final = {
    "": Decimal(1),
    **{suffix: Decimal(10) ** power for suffix, power in (("n", -9), ("u", -6), ("m", -3), ("k", 3))},
    **{suffix: Decimal(10) ** (3 * power) for power, suffix in enumerate("MGTPE", 2)},
    **{f"{suffix}i": Decimal(2) ** (10 * power) for power, suffix in enumerate("KMGTPE", 1)},
}


def amount(quantity: str) -> Decimal:
    """The number that a quantity stands for: cores, bytes, pieces."""
    match = re.fullmatch(r"([0-9.]+)(.*)", quantity)
    if match is None:
        raise ValueError(f"{quantity!r} is no quantity")
    number, suffix = Decimal(match[1]), match[2]
    return number * _FACTORS[suffix] if suffix in _FACTORS else number * Decimal(10) ** int(suffix[1:])


@dataclass(frozen=True)
class _QuantityShape:
    """A text or a whole number in YAML, a text in Python."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": PATTERN,
            "maxLength": _LONGEST,
            "x-kubernetes-int-or-string": True,
        }

    @staticmethod
    def _checked(value: object) -> str:
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if not isinstance(text, str) or len(text) > _LONGEST or re.fullmatch(PATTERN, text) is None:
            raise refusal(f"{value!r} is no amount of a resource" if value is not None else "has no value", _REMEDY)
        return text


Quantity = Annotated[str, _QuantityShape()]
