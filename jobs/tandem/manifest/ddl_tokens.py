"""The words of Spark's DDL, as its lexer reads them. Pure."""

import re
from typing import Final

_TOKEN: Final = re.compile(
    r"""(?P<between>\s+|--(?:\\\n|[^\r\n])*)
    |`(?:[^`]|``)+`
    |'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[rR]'[^']*'|[rR]"[^"]*"
    |\w+|\S""",
    re.DOTALL | re.VERBOSE,
)
_BRACKETS: Final = re.compile(r"/\*|\*/")
_NUMBER: Final = re.compile(r"[0-9]+(e[0-9]+)?(f|d|bd)?|[0-9]+[lsy]", re.IGNORECASE)
_UNQUOTED: Final = re.compile(r"[A-Za-z0-9_]+")


def tokens_of(ddl: str) -> list[str]:
    """The tokens of a schema; a comment is none, but a quoted text with `--` in it is one.

    Raises `ValueError`: a comment has no end.
    """
    found: list[str] = []
    at = 0
    while at < len(ddl):
        if ddl.startswith("/*", at) and not ddl.startswith("/*+", at):
            at = _behind_comment(ddl, at)
        elif token := _TOKEN.match(ddl, at):
            at = token.end()
            if token["between"] is None:
                found.append(token[0])
    return found


def is_text(token: str | None) -> bool:
    """Whether it is a text in quotes."""
    return token is not None and len(token.lstrip("rR")) > 1 and token.lstrip("rR")[0] in "'\""


def name_in(token: str) -> str | None:
    """The name that a token is, without its backquotes; None: it is none, as `1e5`, which is a number."""
    if len(token) > 2 and token.startswith("`"):
        return token[1:-1].replace("``", "`")
    return token if _UNQUOTED.fullmatch(token) and not _NUMBER.fullmatch(token) else None


def _behind_comment(ddl: str, start: int) -> int:
    """Comments in brackets may contain others."""
    depth, at = 1, start + 2
    while depth:
        bracket = _BRACKETS.search(ddl, at)
        if bracket is None:
            raise ValueError("a comment that begins with /* has no end")
        depth += 1 if bracket[0] == "/*" else -1
        at = bracket.end()
    return at
