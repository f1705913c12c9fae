"""Names that no module of a job may have: Python would import it in the place of one that Python, Spark or Tandem needs."""

import sys
from importlib.machinery import FrozenImporter
from typing import Final

_USED: Final = (
    "array ast asyncio base64 binascii bisect bz2 cProfile calendar cmath collections colorsys concurrent "
    "configparser contextlib contextvars copy copyreg csv ctypes dataclasses datetime decimal difflib dis email "
    "encodings enum fcntl filecmp fnmatch fractions functools gettext glob grp gzip hashlib heapq hmac html http "
    "importlib inspect ipaddress json keyword linecache locale logging lzma math mimetypes mmap numbers opcode "
    "operator pathlib pickle pkgutil platform pprint profile pstats pydoc queue quopri random re reprlib resource "
    "secrets select selectors shlex shutil signal socket socketserver ssl statistics string struct subprocess "
    "sysconfig tarfile tempfile textwrap threading timeit token tokenize traceback types typing unicodedata urllib "
    "uuid warnings weakref wsgiref zipfile zlib zoneinfo "
)
"""Python's own modules that a replica or one of Spark's Python workers imports, as of Python 3.11."""
_INSTALLED: Final = "confluent_kafka fsspec kazoo numpy pandas py4j pyarrow pyspark tandem"


def _comes_first(name: str) -> bool:
    """Whether Python takes its own module before it looks along the path."""
    return name in sys.builtin_module_names or FrozenImporter.find_spec(name) is not None


TAKEN: Final = frozenset(name for name in (*_USED.split(), *_INSTALLED.split()) if not _comes_first(name))
