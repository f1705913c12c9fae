"""MkDocs calls this for each page: a link to a file of the repository outside docs/ becomes the file's path."""

import posixpath
import re
from typing import Any

_LINK = re.compile(r"\[(?P<label>[^\]]*)\]\((?P<target>[^)#:]+)(#[^)]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The page's text, whose links all lead to other pages or files of the site."""
    folder = posixpath.join("docs", posixpath.dirname(page.file.src_uri))

    def without_leaving(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link["target"]))
        if path.startswith("docs/"):
            return link[0]
        return link["label"] if link["label"].strip("`") in path else f"{link['label']} (`{path}`)"

    return _LINK.sub(without_leaving, markdown)
