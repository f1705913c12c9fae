"""What an object of a library stands for: a process has another object, which holds the same."""

import argparse
import array
import functools
import inspect
import types
from collections import ChainMap, deque
from configparser import ConfigParser, RawConfigParser
from typing import Any, Final

OF_ENVIRONMENT: Final = "PYTHONHASHSEED"
"""Each process of a job has it, and so has a copy of its `os.environ`."""


def held_by(value: Any) -> Any:
    """What an object of the standard library stands for, or a function that one of a library wraps; None: it is another.

    Classes of libraries that are made from these may hold what differs between processes.
    """
    kind = type(value)
    if kind is functools.partial:
        return value.func, value.args, value.keywords
    if kind in (types.SimpleNamespace, argparse.Namespace):
        return vars(value)
    if kind is deque:
        return list(value)
    if kind is array.array:
        return value.typecode, value.tobytes()
    if kind is ChainMap:
        return value.maps
    if kind in (ConfigParser, RawConfigParser):
        return _settings_of(value)
    if kind in (staticmethod, classmethod):
        return value.__func__
    if kind is property:
        return value.fget
    if kind is functools.cached_property:
        return value.func
    wrapped = inspect.getattr_static(value, "__wrapped__", None)  # asks no proxy
    return wrapped if isinstance(wrapped, types.FunctionType) else None


def _settings_of(parser: RawConfigParser) -> dict[str, Any]:
    """By section, without the defaults, which may be an environment."""
    defaults = dict(parser.defaults())
    is_environment = parser.optionxform(OF_ENVIRONMENT) in defaults
    sections = {
        name: {key: item for key, item in parser.items(name, raw=True) if (key, item) not in defaults.items()}
        for name in parser.sections()
    }
    return {"defaults": None if is_environment else defaults, "sections": sections}
