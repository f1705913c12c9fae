"""The docs name only what there is: fields, commands, log lines, panels, pages."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from alerts.rules import ROOT
from dashboards.write import texts
from tandem_operator.crd.schema import crd_schema
from tandem_operator.plugin.cli import app

PAGES = [ROOT / "README.md", ROOT / "helm" / "tandem" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUNBOOKS = [page for page in PAGES if page.parent.name == "alerts"]
FIELD = re.compile(r"(?<![\w.])((?:spec|status)(?:\.[a-zA-Z]+)+)")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)#]*)(?:#([^)]*))?\)")

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
each_runbook = pytest.mark.parametrize("page", RUNBOOKS, ids=lambda page: page.stem)


def knows(schema: Mapping[str, Any], path: list[str]) -> bool:
    """Whether a schema has a field; what it leaves open has any."""
    if not path or "properties" not in schema:
        return True
    name, *rest = path
    return name in schema["properties"] and knows(schema["properties"][name], rest)


def anchors(page: Path) -> Iterator[str]:
    """As renderers make them of a page's headings."""
    for heading in re.findall(r"(?m)^#+ (.*)$", page.read_text()):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@each_page
def test_a_page_names_only_fields_that_the_crd_has(page: Path) -> None:
    named = {found for found in FIELD.findall(page.read_text()) if not found.endswith(".py")}

    assert [field for field in sorted(named) if not knows(crd_schema(), field.split("."))] == []


@each_page
def test_the_plugin_has_the_commands_that_a_page_names(page: Path) -> None:
    there = {command.callback.__name__ for command in app.registered_commands if command.callback}

    assert set(re.findall(r"kubectl tandem ([a-z]+)", page.read_text())) <= there


@each_page
def test_a_pages_links_lead_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text()):
        if "://" in target:
            continue
        found = page.parent / target if target else page
        assert found.exists(), target
        assert not anchor or anchor in set(anchors(found)), f"{target}#{anchor}"


@each_runbook
def test_a_runbook_names_only_log_lines_that_are_written_and_panels_that_are_drawn(page: Path) -> None:
    sources = [path.read_text() for folder in ("jobs", "operator") for path in (ROOT / folder).rglob("*.py")]
    titles = {panel["title"] for text in texts().values() for panel in json.loads(text)["panels"]}
    words = {word for word in re.findall(r"`([a-z]+(?:_[a-z]+)+)`", page.read_text()) if not word.startswith("tandem_")}

    assert [word for word in sorted(words) if not any(f'"{word}"' in source for source in sources)] == []
    assert set(re.findall(r"panel \*([^*]+)\*", page.read_text())) <= titles
