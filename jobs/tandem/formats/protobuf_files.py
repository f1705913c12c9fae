"""The text of a .proto becomes descriptors: by protoc, which grpcio-tools brings.

A file may import those of its references, of protoc itself, and of `protobuf_builtins`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any, Final

from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from tandem.formats.protobuf_builtins import imported
from tandem.formats.schemas import RegisteredSchema, SchemaError

_NAME: Final = "schema.proto"
_TIMEOUT_S: Final = 60
_MOST_WORDS: Final = 300
_CODE: Final = "import sys; from grpc_tools import protoc; sys.exit(protoc.main(sys.argv))"


@lru_cache(maxsize=1_000)
def compiled(schema: RegisteredSchema) -> Any:
    """The file's descriptor (`google.protobuf.descriptor.FileDescriptor`). Raises `SchemaError`."""
    if schema.kind != "PROTOBUF":
        raise SchemaError(f"schema {schema.id} is no Protobuf schema, but of the type {schema.kind}")
    pool = descriptor_pool.DescriptorPool()
    for file in _descriptors(schema).file:
        pool.Add(file)
    return pool.FindFileByName(_main_name(schema))


def messages(file: Any) -> list[Any]:
    """The messages of a file, as its text has them; not those within others."""
    proto = FileDescriptorProto()
    file.CopyToProto(proto)
    return [file.message_types_by_name[message.name] for message in proto.message_type]


def _descriptors(schema: RegisteredSchema) -> FileDescriptorSet:
    with tempfile.TemporaryDirectory(prefix="tandem-proto-") as folder:
        root = Path(folder)
        sources, result, name = root / "sources", root / "descriptors", _main_name(schema)
        _write(schema, sources, name)
        known = str(files("grpc_tools") / "_proto")
        places = ("-I", str(sources), "-I", known, *_builtins(schema, root / "builtins"))
        options = (*places, "--include_imports", f"--descriptor_set_out={result}", name)
        done = subprocess.run(
            [sys.executable, "-c", _CODE, *options], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
        if done.returncode != 0:
            raise SchemaError(f"schema {schema.id} is no Protobuf schema: {_said(done.stderr, str(sources))}")
        return FileDescriptorSet.FromString(result.read_bytes())


def _builtins(schema: RegisteredSchema, path: Path) -> tuple[str, ...]:
    """The option that shows them to protoc, which looks into its folders first: a reference may bring such a file, too."""
    found = imported(_texts(schema))
    path.write_bytes(found.SerializeToString())
    return (f"--descriptor_set_in={path}",) if found.file else ()


def _said(output: str, folder: str) -> str:
    """What protoc says of the file: the same in every process, as it may become a part of a dead letter."""
    lines = [line.removeprefix(f"{folder}/") for line in output.splitlines() if line.startswith(folder)]
    if not lines:
        raise RuntimeError(f"protoc failed: {output.strip()[-500:]}")
    return "; ".join(lines)[:_MOST_WORDS]


def _main_name(schema: RegisteredSchema) -> str:
    """A name for the file itself that no reference has, as a file or as a folder."""
    taken = {part for name in _names(schema) for part in PurePosixPath(name).parts[:1]}
    name = _NAME
    while name in taken:
        name = f"the_{name}"
    return name


def _names(schema: RegisteredSchema) -> Iterator[str]:
    for name, one in schema.references:
        yield name
        yield from _names(one)


def _texts(schema: RegisteredSchema) -> Iterator[str]:
    yield schema.text
    for _, one in schema.references:
        yield from _texts(one)


def _write(schema: RegisteredSchema, root: Path, name: str) -> None:
    """The file and those that it imports; a name in the registry is a path in them."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise SchemaError(f"it imports {name}, which is no path below the schema's own")
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(schema.text)
    for other, one in schema.references:
        _write(one, root, other)
