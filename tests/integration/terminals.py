"""Where a reader of a tutorial types its commands: in the folder of `shop`, which has another name and other ports here."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil

from integration.command import PATIENCE_S, TANDEM, Command, completed
from integration.waiting import gone
from tandem.devservers.server import free_ports
from tandem.manifest.models import default_checkpoint_directory
from tandem.process.info import ExitCode

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
NAME = "shop"
_UP_S = 240.0
"""Two servers are given 90 s each."""


@dataclass
class Terminals:
    """The commands must be in `page` just so. `job`: what the job is called here."""

    parent: Path
    job: str
    page: str
    ports: tuple[int, ...] = field(default_factory=lambda: free_ports(2))
    commands: list[Command] = field(default_factory=list)
    typed: set[str] = field(default_factory=set)

    @property
    def folder(self) -> Path:
        return self.parent / self.job

    @property
    def env(self) -> dict[str, str]:
        """`tandem` and `pytest` are those of this environment, as after `source .venv/bin/activate`."""
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        return {"XDG_RUNTIME_DIR": str(self.parent), "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1", "PATH": path}

    def make_job(self) -> None:
        """The job of the first tutorial, at the ports of its own servers."""
        subprocess.run(
            [*TANDEM, "new", self.job], cwd=self.parent, check=True, timeout=PATIENCE_S, stdout=subprocess.DEVNULL
        )
        self.use_ports()

    def use_ports(self) -> None:
        """The manifest names the servers' ports: those of the page may be in use."""
        manifest = self.folder / "job.yaml"
        kafka, zookeeper = self.ports
        manifest.write_text(manifest.read_text().replace(":9092", f":{kafka}").replace(":2181", f":{zookeeper}"))

    def line(self, line: str) -> str:
        """A line of the page, with the job's name."""
        assert f"\n    {line}\n" in self.page, f"the page has no command: {line}"
        self.typed.add(line)
        return line.replace(NAME, self.job)

    def words(self, line: str, *more: str) -> list[str]:
        """The arguments of a command of the page."""
        return [*self.line(line).split()[1:], *more]

    def change_folder(self, line: str) -> None:
        """Type the `cd` after which all commands are typed in the job's folder."""
        assert self.parent / self.line(line).removeprefix("cd ") == self.folder
        assert self.folder.is_dir()

    def turn_to(self, tutorial: str) -> Terminals:
        """The same terminals, for a page that continues this one."""
        return replace(self, page=page(tutorial), typed=set())

    def shell(self, line: str) -> str:
        """Type a line that is not one command of Tandem; what it printed."""
        return self._done(["/bin/sh", "-c", self.line(line)], self.folder, PATIENCE_S)

    def begin(self, line: str, *more: str) -> Command:
        """Type a command that stays in the foreground."""
        self.commands.append(Command(*self.words(line, *more), cwd=self.folder, **self.env))
        return self.commands[-1]

    def serve(self) -> Command:
        """The servers of a tutorial that begins with them running."""
        self.commands.append(Command("dev", "job.yaml", *self.at_ports(), cwd=self.folder, **self.env))
        return self.is_up(self.commands[-1])

    def dev(self) -> Command:
        """`tandem dev` with the manifest, when it is up."""
        return self.is_up(self.begin("tandem dev job.yaml", *self.at_ports()))

    def at_ports(self) -> list[str]:
        return ["--kafka-port", str(self.ports[0]), "--zookeeper-port", str(self.ports[1])]

    def is_up(self, command: Command) -> Command:
        command.when(lambda: "Next, in another terminal:" in command.output, _UP_S)
        assert "Next, in another terminal:" in command.output, command.output
        return command

    def type(self, line: str, *more: str, at: Path | None = None, patience_s: float = PATIENCE_S) -> str:
        """Type a command, and wait for its end; what it printed."""
        return self._done([*TANDEM, *self.words(line, *more)], at or self.folder, patience_s)

    def _done(self, words: list[str], at: Path, patience_s: float) -> str:
        env = {**os.environ, **self.env}
        done = completed(words, patience_s, at, env)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def all_typed(self) -> None:
        """Every command of the page was typed; a line that begins with a brace is what a command prints."""
        shown = re.findall(r"(?m)^    (?! )(?!{)(.+)$", re.sub(r"(?ms)^```.*?^```$", "", self.page))
        assert shown
        assert set(shown) <= self.typed, f"commands that were not run: {set(shown) - self.typed}"

    def close(self) -> None:
        """End what still runs, the last first; each, though another does not end."""
        with ExitStack() as ending:
            for command in self.commands:
                ending.callback(command.close)

    def interrupt(self, command: Command) -> None:
        """Ctrl-C: it ends well, and leaves no process behind."""
        children = psutil.Process(command.pid).children(recursive=True)
        os.kill(command.pid, signal.SIGINT)
        assert command.exit_code() == ExitCode.OK, command.output
        assert all(gone(child.pid) for child in children)


def page(tutorial: str) -> str:
    """The page of that name."""
    return (TUTORIALS / f"{tutorial}.md").read_text()


@contextmanager
def opened(parent: Path, topic_prefix: str, tutorial: str) -> Iterator[Terminals]:
    """For the page of that name; all that still runs is ended afterwards, also where the test fails."""
    made = Terminals(parent, f"{NAME}-{topic_prefix[-8:]}", page(tutorial))
    with ExitStack() as ending:
        ending.callback(shutil.rmtree, default_checkpoint_directory(made.job), ignore_errors=True)
        ending.callback(made.close)
        yield made


def totals(consume: Command) -> list[dict[str, Any]]:
    """The rows that `tandem dev consume` has printed."""
    return [json.loads(line) for line in consume.output.splitlines(keepends=True) if line[:1] + line[-1:] == "{\n"]


def shows(consume: Command, orders: dict[str, int], pieces: dict[str, int]) -> bool:
    """Wait until these are the newest totals; whether each came once, and in order."""
    consume.when(lambda: {row["product"]: row["orders"] for row in totals(consume)} == orders)
    rows = totals(consume)
    counts = {product: [row["orders"] for row in rows if row["product"] == product] for product in orders}
    once = all(found == sorted(set(found)) for found in counts.values())
    return once and {row["product"]: row["pieces"] for row in rows} == pieces
