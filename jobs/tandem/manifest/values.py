"""The small values that a manifest is made of: sections, names, durations."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from tandem.manifest.problems import refusal


class Section(BaseModel):
    """A mapping of the manifest: camelCase in YAML, snake_case in Python, frozen, and nothing in it that is not known."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        serialize_by_alias=True,
    )


@dataclass(frozen=True)
class Shape:
    """What a string must look like; the pattern also reaches the JSON schema, so it keeps to RE2.

    A text that is `secret` is not repeated in messages.
    """

    pattern: str
    message: str
    remedy: str
    longest: int = 1024
    secret: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(schema), "pattern": f"^{self.pattern}$", "maxLength": self.longest}

    def _checked(self, text: str) -> str:
        if re.fullmatch(self.pattern, text) is None:
            raise refusal(f"{'what is written here' if self.secret else repr(text)} {self.message}", self.remedy)
        if len(text) > self.longest:
            raise refusal(f"has {len(text)} characters", f"Use at most {self.longest}")
        return text


def _not_a_keyword(text: str) -> str:
    if keyword.iskeyword(text):
        raise refusal(f"{text!r} is a word of the Python language", "Choose another name")
    return text


def _free_topic(text: str) -> str:
    if text in {".", ".."} or text.startswith("__"):
        raise refusal(f"{text!r} belongs to Kafka itself", "Name a topic of your own")
    return text


def _ports(text: str) -> str:
    for port in re.findall(r":([0-9]+)(?=[ ,/]|$)", text):
        if not 1 <= int(port) <= 65_535:
            raise refusal(f"{port} is no port", "Ports are 1 to 65535")
    return text


# The longest suffix of a process name, "-generator-99-abcde", must still fit into the 63 characters of a DNS label.
LONGEST_JOB_NAME: Final = 63 - len("-generator-99-abcde")

_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_HOST = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?)"
_HOST_PORT = rf"{_HOST}:[0-9]{{1,5}}"

JobName = Annotated[
    str,
    Shape(
        _DNS_LABEL,
        "is no DNS-1123 label",
        "Use lower-case letters, digits and '-', with a letter or digit at both ends, e.g. flights",
        LONGEST_JOB_NAME,
    ),
]
DnsLabel = Annotated[
    str,
    Shape(
        _DNS_LABEL,
        "is no DNS-1123 label",
        "Use lower-case letters, digits and '-', with a letter or digit at both ends, e.g. streaming",
        63,
    ),
]
ObjectName = Annotated[
    str,
    Shape(
        rf"{_DNS_LABEL}(\.{_DNS_LABEL})*",
        "is no name of a Kubernetes object",
        "Use lower-case letters, digits, '-' and '.', with a letter or digit at both ends, e.g. kafka-login",
        253,
    ),
]
Identifier = Annotated[
    str,
    Shape(
        r"[A-Za-z_][A-Za-z0-9_]*",
        "is no Python identifier",
        "Use letters, digits and '_', not beginning with a digit, e.g. late_flights",
        128,
    ),
    AfterValidator(_not_a_keyword),
]
Topic = Annotated[
    str,
    Shape(
        r"[A-Za-z0-9._-]+",
        "is no name of a Kafka topic",
        "Use letters, digits, '.', '_' and '-'; patterns are not supported, list the topics singly",
        249,
    ),
    AfterValidator(_free_topic),
]
BootstrapServers = Annotated[
    str,
    Shape(
        rf"{_HOST_PORT}( *, *{_HOST_PORT})*",
        "is no list of brokers",
        "Write host:port, several separated by commas, without a scheme, e.g. kafka-0:9092,kafka-1:9092",
        4096,
    ),
    AfterValidator(_ports),
]
ZooKeeperConnect = Annotated[
    str,
    Shape(
        rf"{_HOST_PORT}( *, *{_HOST_PORT})*(/[A-Za-z0-9._-]+)*",
        "is no ZooKeeper connect string",
        "Write host:port, several separated by commas, if need be with a chroot at the end, e.g. zk-0:2181,zk-1:2181/tandem",
        4096,
    ),
    AfterValidator(_ports),
]
EnvironmentName = Annotated[
    str,
    Shape(
        r"[A-Za-z_][A-Za-z0-9_]*",
        "is no name of an environment variable",
        "Give the variable's name only, e.g. KAFKA_PASSWORD",
        256,
        secret=True,
    ),
]
ModuleName = Annotated[
    str,
    Shape(
        r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*",
        "is no name of a Python module",
        "Write package.module, or use spec.job.file for a path",
        512,
    ),
]
FunctionName = Annotated[
    str,
    Shape(
        r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*",
        "is no function of a module",
        "Write module:function, e.g. job:write for the function write in job.py",
        512,
    ),
]
LabelValue = Annotated[
    str,
    Shape(
        r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?",
        "is no value of a Kubernetes label",
        "Use letters, digits, '-', '_' and '.', or make it an annotation",
        63,
    ),
]
PathText = Annotated[str, Shape(r"[^\x00\n]*[^\x00\n\s][^\x00\n]*", "is no path", "Give a path", 4096)]
Count = Annotated[int, Field(strict=True)]

MOST_LANES: Final = 4_096
Flag = Annotated[bool, Field(strict=True)]

_UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
_DURATION = r"[0-9]+(\.[0-9]+)?(ms|s|m|h)"
_DURATION_REMEDY = "Write a number and one of ms, s, m, h, e.g. 10ms, 5s, 1m"


@dataclass(frozen=True, order=True)
class Duration:
    """A length of time, whole milliseconds; in YAML a string with a unit (`10ms`, `5s`, `1.5m`, `1h`)."""

    ms: int

    @property
    def seconds(self) -> float:
        """The same in seconds."""
        return self.ms / 1_000

    @classmethod
    def parse(cls, value: object) -> Duration:
        """Read `10ms`, `5s`, `1.5m` or `1h`.

        Raises `PydanticCustomError`: no unit, another unit, or a fraction of a millisecond.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            raise refusal(f"{value} has no unit", f"Write {value}ms or {value}s")
        text = value if isinstance(value, str) else ""
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)", text)
        if match is None:
            raise refusal(f"{value!r} is no duration" if value is not None else "has no value", _DURATION_REMEDY)
        ms = Decimal(match[1]) * _UNITS[match[2]]
        if ms != ms.to_integral_value():
            raise refusal(f"{text} is a fraction of a millisecond", "Durations are whole milliseconds, e.g. 1ms")
        return cls(int(ms))

    def __str__(self) -> str:
        for unit in ("h", "m", "s"):
            if self.ms and self.ms % _UNITS[unit] == 0:
                return f"{self.ms // _UNITS[unit]}{unit}"
        return f"{self.ms}ms"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls.parse, serialization=core_schema.plain_serializer_function_ser_schema(str)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "pattern": f"^{_DURATION}$"}


@dataclass(frozen=True)
class Within:
    """The bounds of a duration, in ms, both included."""

    least: int
    most: int

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def _checked(self, duration: Duration) -> Duration:
        if not self.least <= duration.ms <= self.most:
            raise refusal(
                f"{duration} is out of bounds",
                f"Choose between {Duration(self.least)} and {Duration(self.most)}",
            )
        return duration
