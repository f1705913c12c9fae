"""Files that a .proto may import though its schema does not refer to them: Confluent's clients have them, and send none.

The installed packages have them as Python modules: googleapis-common-protos and confluent-kafka, which Tandem requires.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, Final

from google.protobuf.descriptor_pb2 import FileDescriptorSet

_IMPORT: Final = re.compile(r"""["'](google/type|confluent)/([\w/]+)\.proto["']""")
_PACKAGES: Final = {"google/type": "google.type", "confluent": "confluent_kafka.schema_registry.confluent"}
_OF_PROTOC: Final = "google/protobuf/"


def imported(texts: Iterable[str]) -> FileDescriptorSet:
    """Those that one of the texts imports, with what they import themselves; without those that protoc has."""
    found: dict[str, Any] = {}
    for text in texts:
        for folder, name in _IMPORT.findall(text):
            for file in _files(folder, name):
                found.setdefault(file.name, file)
    result = FileDescriptorSet()
    for _, file in sorted(found.items()):
        file.CopyToProto(result.file.add())
    return result


def _files(folder: str, name: str) -> Iterator[Any]:
    """None where the packages have no such file: protoc says that it is not there."""
    try:
        module = import_module(f"{_PACKAGES[folder]}.{name.replace('/', '.')}_pb2")
    except ImportError:
        return
    yield from _with_imports(module.DESCRIPTOR)


def _with_imports(file: Any) -> Iterator[Any]:
    if not file.name.startswith(_OF_PROTOC):
        yield file
        for one in file.dependencies:
            yield from _with_imports(one)
