"""Values of a job's code as text: two processes that computed the same value write the same.

Compared are plain data, and functions by their code and by what they take with them. Of other objects (clients, locks,
loggers) only the type counts: they differ between processes without changing a row. In doubt two values are alike: rows that
differ all the same show as a divergence.
"""

import dataclasses
import enum
import hashlib
import re
import sys
import tempfile
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyspark
from pyspark import Broadcast
from pyspark.cloudpickle.cloudpickle import _extract_code_globals
from pyspark.sql import Row
from pyspark.sql.types import DataType

from tandem.engine.stand_ins import OF_ENVIRONMENT, held_by

_PLAIN: Final = (
    *(type(None), bool, int, float, complex, str, bytes, bytearray, range, slice),
    *(Decimal, Fraction, date, datetime, time, timedelta, UUID, PurePath, np.generic),
)
_MOST: Final = 20_000
"""Values that are looked at one by one; what comes then is not compared."""
_SHOWN: Final = 120
_WRITTEN: Final = 200
"""Characters of a value's text that are written out; the rest is a hash."""
_ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")
UNKNOWN: Final = "cannot be compared: "

Facts = dict[str, str]
"""Place in the code, and what is there → its value as text."""


class Describer:
    """Describes one value after another.

    `is_users` : whether a module is the job's own, so that its functions are described by what they do.
    """

    def __init__(self, is_users: Callable[[str], bool]) -> None:
        self._is_users = is_users
        self._left = _MOST
        self._known: dict[int, tuple[Any, str]] = {}
        # Each value is kept: another one could get the identity of one that is gone.
        self._temporary = re.compile(rf"{re.escape(tempfile.gettempdir())}/[^/\s'\"]+")

    def parts(self, name: str, value: Any) -> Iterator[tuple[str, str]]:
        """(name of a part, its text) of a value. A function has its code and what it takes with it; a method, attributes."""
        if isinstance(value, types.FunctionType):
            yield from self._function(name, value)
        elif isinstance(value, types.MethodType):
            yield from self._method(name, value)
        elif isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], DataType):
            yield from self.parts(name, value[0])
        else:
            yield name, self.text(value)

    def text(self, value: Any) -> str:
        """A value as text."""
        self._left -= 1
        if self._left < 0:
            return "…"
        if isinstance(value, _PLAIN):
            return _shortened(self._plain(value))
        if id(value) not in self._known:
            self._known[id(value)] = value, "itself"
            self._known[id(value)] = value, _shortened(self._compound(value))
        return self._known[id(value)][1]

    def _plain(self, value: Any) -> str:
        """A temporary folder has another name in each process; and objects within, as a time's zone, have an address."""
        if isinstance(value, bool | None):
            return repr(value)
        text = repr(value)
        if isinstance(value, str | PurePath):
            return f"{type(value).__name__} {self._temporary.sub('a temporary folder', text)}"
        return f"{type(value).__name__} {text if isinstance(value, bytes) else _ADDRESS.sub('', text)}"

    def _compound(self, value: Any) -> str:
        if isinstance(value, enum.Enum):
            return f"{self._class(type(value))}.{value.name} {self.text(value.value)}"
        if isinstance(value, dict) and OF_ENVIRONMENT in value:
            return "an environment"
        if isinstance(value, dict | types.MappingProxyType):  # others may be a client's, or the environment itself
            items = (f"{self.text(key)}: {self.text(item)}" for key, item in self._some(value.items()))
            return f"{type(value).__name__} of {len(value)} {{{', '.join(items)}}}"
        if isinstance(value, set | frozenset):
            # In no order: Python's hash seed is the same in every process, so the order is, too.
            return f"{type(value).__name__} {{{', '.join(sorted(self.text(item) for item in self._some(value)))}}}"
        if isinstance(value, Row | list | tuple):
            items = (self.text(item) for item in self._some(value))
            return f"{type(value).__name__} of {len(value)} [{', '.join(items)}]"
        if isinstance(value, Broadcast):
            return f"broadcast {self.text(value.value)}"
        if isinstance(value, re.Pattern):
            return f"pattern {value.pattern!r} {value.flags}"
        if isinstance(value, np.ndarray):
            content = value.tobytes() if value.dtype != object else self.text(value.tolist()).encode()
            return f"array {value.dtype} {value.shape} {_hash_of(content)}"
        if (text := _of_pandas(value)) is not None:
            return text
        if isinstance(value, pa.Table | pa.RecordBatch | pa.Array | pa.ChunkedArray):
            return f"{type(value).__name__} {self.text(value.to_pylist())}"
        if isinstance(value, type | types.ModuleType | types.BuiltinFunctionType):
            return self._named(value)
        if isinstance(value, types.FunctionType):
            return "; ".join(f"{name} {text}" for name, text in self._function(value.__qualname__, value))
        if isinstance(value, types.MethodType):
            return f"{self._bound(value.__self__)}.{value.__name__}"
        if isinstance(value, threading.Thread):
            return f"a {type(value).__qualname__}"
        if dataclasses.is_dataclass(value) or self._is_users(type(value).__module__):
            # A message shows the beginning of it, where what an object holds says more than what its class does.
            return f"{type(value).__qualname__} {self.text(_state_of(value))} {self._class(type(value))}"
        if isinstance(value, tzinfo):
            return str(value)
        if (held := held_by(value)) is not None:
            return f"{type(value).__qualname__} {self.text(held)}"
        return f"a {type(value).__module__}.{type(value).__qualname__}"

    def _some(self, values: Iterable[Any]) -> Iterator[Any]:
        return islice(values, max(self._left, 0) + 1)

    def _class(self, kind: type) -> str:
        """A class by its name, and if it is the user's by what it does, and its bases do."""
        return self.text(kind) if self._is_users(kind.__module__) else kind.__qualname__

    def _bound(self, owner: Any) -> str:
        """What a method belongs to, and what of the user's that holds."""
        held = [one for one in self._held(owner) if one is not owner]
        return f"{self.text(owner)} {self.text(held)}" if held else self.text(owner)

    def _held(self, owner: Any) -> list[Any]:
        """The user's objects and functions that a method calls: one of Spark's stands for a `StatefulProcessor`, say."""
        if self._is_users(type(owner).__module__):
            return [owner]
        if not type(owner).__module__.startswith(f"{pyspark.__name__}."):
            return []
        return [item for item in _state_of(owner).values() if self._is_users(type(item).__module__) or _is_code(item)]

    def _method(self, name: str, method: types.MethodType) -> Iterator[tuple[str, str]]:
        owner = method.__self__
        objects = [one for one in self._held(owner) if not _is_code(one) and not isinstance(one, type)]
        for one in objects:
            self._known.setdefault(id(one), (one, "itself"))
        yield name, self.text(method)
        for one in objects:
            kind = type(one).__qualname__
            yield f"the class {kind} of {name}", self._class(type(one))
            for attribute, item in _state_of(one).items():
                yield f"{attribute} of {kind} of {name}", self.text(item)

    def _named(self, value: Any) -> str:
        if isinstance(value, type) and self._is_users(value.__module__):
            own = {name: item for name, item in vars(value).items() if not name.startswith("__") or _is_code(item)}
            bases = [base for base in value.__bases__ if self._is_users(base.__module__)]
            return f"{value.__qualname__} {self.text(own)}{self.text(bases) if bases else ''}"
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', getattr(value, '__name__', ''))}"

    def _function(self, name: str, function: types.FunctionType) -> Iterator[tuple[str, str]]:
        if not self._is_users(function.__module__ or ""):
            yield name, f"{function.__module__}.{function.__qualname__}"
            for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
                yield f"{variable} of {name}", self.text(_content(cell))
            return
        self._known.setdefault(id(function), (function, "itself"))
        codes = list(_codes(function.__code__))
        yield name, _hash_of(b"".join(code.co_code + repr(_names_in(code)).encode() for code in codes))
        constants = (one for code in codes for one in code.co_consts if not isinstance(one, types.CodeType))
        taken: list[tuple[str, Any]] = [("constants", tuple(constants)), ("defaults", function.__defaults__)]
        taken += sorted((function.__kwdefaults__ or {}).items())
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
        taken += [(variable, _content(cell)) for variable, cell in cells]
        names = sorted(_extract_code_globals(function.__code__))  # type: ignore[no-untyped-call]
        known = (one for one in names if one in function.__globals__ and not one.startswith("__"))
        taken += [(variable, function.__globals__[variable]) for variable in known]
        for variable, value in taken:
            yield f"{variable} of {name}", self.text(value)


def facts_of(places: Sequence[tuple[str, str, Any]], is_users: Callable[[str], bool]) -> Facts:
    """The facts of values: (what it is, its place, the value) each."""
    facts: Facts = {}
    for what, place, value in places:
        for name, text in _parts(Describer(is_users), what, value):
            where = f"{name} ({place})" if place else name
            facts[where if where not in facts else f"{where} {len(facts)}"] = text
    return facts


def _parts(describer: Describer, what: str, value: Any) -> list[tuple[str, str]]:
    try:
        return list(describer.parts(what, value))
    except Exception as error:  # the user's own __repr__, say, or data that is nested too deeply
        return [(what, f"{UNKNOWN}{type(error).__name__}")]


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of a function, and of the functions, classes and comprehensions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _names_in(code: types.CodeType) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What it takes by name, as attributes and methods; and its parameters."""
    return code.co_names, code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _is_code(value: Any) -> bool:
    return isinstance(value, types.FunctionType | staticmethod | classmethod | property)


def _of_pandas(value: Any) -> str | None:
    """None: it is nothing of pandas, which takes half a second to import, and is imported already where a value is."""
    pd: Any = sys.modules.get("pandas")
    if pd is None or not isinstance(value, pd.DataFrame | pd.Series | pd.Index):
        return None
    names = list(value.columns) if isinstance(value, pd.DataFrame) else [value.name]
    return f"{type(value).__name__} {names} {_hash_of(pd.util.hash_pandas_object(value).to_numpy().tobytes())}"


def _shortened(text: str) -> str:
    return text if len(text) <= _WRITTEN else f"{text[:_WRITTEN]}… {_hash_of(text.encode(errors='surrogatepass'))}"


def shown(text: str) -> str:
    """A fact's text for a message."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _state_of(value: Any) -> Any:
    state = getattr(value, "__dict__", None)
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    return state if state is not None else {name: getattr(value, name, None) for name in slots if name != "__weakref__"}


def _hash_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
