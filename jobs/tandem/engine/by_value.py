"""Functions whose module Spark's Python workers cannot import are sent to them whole.

A worker has no session. A module that asks Spark for something when it is imported (a session, a broadcast, a Column) fails
there, at the first record. A program's own functions are sent by value, since nobody can import a program; so are those
of such a module, as if the job still was the program that it was brought along from.
"""

import copyreg
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import _lru_cache_wrapper
from types import FrameType, FunctionType, ModuleType
from typing import Any, Final

from pyspark import Broadcast, SparkContext
from pyspark.cloudpickle import list_registry_pickle_by_value, register_pickle_by_value
from pyspark.sql import Column, DataFrame, SparkSession

from tandem.engine.again_cached import again_cached
from tandem.engine.facts import is_users_module
from tandem.engine.users_code import is_users_file

_FORGET: Final = "m\n"
"""Begins what Python tells the JVM about objects that it has no use for any more: at any time, whatever runs."""
_OF_THE_DRIVER: Final = (SparkSession, SparkContext, DataFrame, Column, Broadcast)


@contextmanager
def sent_whole(session: SparkSession) -> Iterator[None]:
    """In the block the job's modules are imported: functions of those that need a session for it are sent by value."""
    gateway: Any = session.sparkContext._gateway
    client = gateway._gateway_client
    client.send_command = _noting(client.send_command)
    try:
        yield
    finally:
        del client.send_command
    _spread()


def _noting(original: Callable[..., Any]) -> Callable[..., Any]:
    def send(command: str, *given: Any, **named: Any) -> Any:
        if not command.startswith(_FORGET):
            for module in _being_imported(sys._getframe(1)):
                _send_whole(module)
        return original(command, *given, **named)

    return send


def _send_whole(module: ModuleType) -> None:
    register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def _sent_whole() -> set[str]:
    names: set[str] = list_registry_pickle_by_value()  # type: ignore[no-untyped-call]
    return names


def _reduced(cached: Any) -> str | tuple[Any, ...]:
    """A function with an `lru_cache`, which would be sent by its name alone."""
    if cached.__module__ not in _sent_whole():
        return str(cached.__qualname__)
    return again_cached, (cached.__wrapped__, cached.cache_parameters())


copyreg.pickle(_lru_cache_wrapper, _reduced)
# Each worker has its own, as each process that imports a module has.
copyreg.pickle(type(threading.Lock()), lambda _: (threading.Lock, ()))
copyreg.pickle(type(threading.RLock()), lambda _: (threading.RLock, ()))
copyreg.pickle(threading.local, lambda _: (threading.local, ()))


def _being_imported(frame: FrameType | None) -> Iterator[ModuleType]:
    """The job's modules whose import is under way."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and is_users_file(frame.f_code.co_filename):
            module = sys.modules.get(str(frame.f_globals.get("__name__")))
            if module is not None:
                yield module
        frame = frame.f_back


def _spread() -> None:
    """Modules that import one of these fail in a worker, too."""
    known = _sent_whole()
    packages = {name.partition(".")[0] for name in known}
    others = {name: one for name, one in sys.modules.items() if name not in known and _is_users(name, packages)}
    found = {name: module for name, module in others.items() if known and _takes_from(module, known)}
    while found:
        for name, module in found.items():
            _send_whole(module)
            known.add(name)
            del others[name]
        found = {name: module for name, module in others.items() if _takes_from(module, known)}


def _is_users(name: str, packages: set[str]) -> bool:
    """Whether it is the job's own, or of a package with modules that are sent whole."""
    return name.partition(".")[0] in packages or is_users_module(name)


def _takes_from(module: ModuleType, known: set[str]) -> bool:
    for value in list(vars(module).values()):
        kind = type(value)  # what a proxy says of itself may need what it stands for
        if issubclass(kind, _OF_THE_DRIVER):
            return True
        home = value.__name__ if issubclass(kind, ModuleType) else None
        if issubclass(kind, (type, FunctionType)):
            home = value.__module__
        if home in known:
            return True
    return False
