"""`from tandem import JobContext`, and `import tandem` alone costs next to nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tandem
from tandem import JobContext
from tandem.jobapi.context import JobContext as Defined


def test_the_type_of_a_jobs_context_is_a_name_of_the_package() -> None:
    assert JobContext is Defined
    assert tandem.__all__ == ["JobContext"]


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="module 'tandem' has no attribute 'JobContexts'"):
        tandem.JobContexts  # noqa: B018


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys, tandem; print([name for name in ('pyspark', 'pandas', 'pydantic') if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.strip() == "[]"
