"""Where a table or a store of snapshots may lie: the schemes that are known, and the package that each needs."""

import re
from typing import Final

PACKAGES: Final[dict[str, str]] = {
    "file": "",
    "local": "",
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "az": "adlfs",
    "hdfs": "pyarrow",
    "webhdfs": "requests",
    "oss": "ossfs",
    "oci": "ocifs",
    "sftp": "paramiko",
    "ssh": "paramiko",
    "smb": "smbprotocol",
}
"""Scheme that files can be written to for good → the module that fsspec needs for it; "": none."""
DELTA: Final = ("file", "s3", "s3a", "gs", "abfs", "abfss", "az", "adl", "azure", "hdfs")
"""Schemes that the package deltalake knows by itself."""


def scheme_of(place: str) -> str:
    """`s3` of `s3://bucket/path`; `file` of a path."""
    scheme, separator, _ = place.partition("://")
    return scheme if separator else "file"


def looks_like_uri(place: str) -> str:
    """The scheme of what is a path, but was meant as a URI, as Hadoop writes them (`hdfs:/out`, `file:/out`); else ""."""
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):/(?!/)", place)
    return found[1] if found else ""


def needed_module(kind: str, place: str) -> str:
    """The module that writing to `place` needs; "": none, or none that is known. `kind`: `delta` or anything else."""
    return "deltalake" if kind == "delta" else PACKAGES.get(scheme_of(place), "")


def install(module: str) -> str:
    """How to get a module."""
    extra = {"s3fs": "s3", "deltalake": "delta", "psycopg": "postgres", "pyiceberg": "iceberg"}.get(module)
    return f"pip install 'tandem-stream[{extra}]'" if extra else f"pip install {module}"
