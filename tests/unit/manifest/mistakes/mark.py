"""What a mistake is."""

from __future__ import annotations

Mistake = tuple[str, str, str, str]
"""What is replaced in the good manifest, by what, the field, a fragment of message and remedy."""

HERE = "# <-- here"
"""Marks, in a mistake's YAML, the line that the problem must name."""
