"""Golden transcripts: what a replica's core is told, and under it, indented, what it wants done. Each file is a story.

`TANDEM_REWRITE=1` writes the files again, to be read before they are committed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tandem.core.catch_up import CatchUp
from tandem.core.effects import (
    Answer,
    Append,
    Ask,
    Begun,
    CatchingUp,
    CaughtUp,
    Compared,
    Compute,
    Effect,
    Exit,
    Expect,
    HandedOver,
    Marked,
    SeekSuccessor,
    TellRole,
    TookOver,
)
from tandem.core.events import Asked, Computed, Done, LogRecord, MarkerRecord, Needs, ReplicaEvent, Seen, Stop, Tick
from tandem.core.giving import GivingSettings
from tandem.core.replica import ReplicaCore
from tandem.core.settings import ReplicaSettings
from tandem.protocol.actions import Fence, Outcome, Publish, ReadToEnd, RenewProducer
from tandem.protocol.barriers import OwnBarriers
from tandem.protocol.decisions import Decisions
from tandem.protocol.publication import Publication
from tandem.protocol.publication_rules import Delivery
from tandem.protocol.succession import Succession
from tandem.protocol.switchover import Holder
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import (
    Claim,
    Config,
    Cut,
    Determinant,
    LagReport,
    Marker,
    Offsets,
    Proposal,
    TopicPartition,
)

STORIES = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))
IN = TopicPartition("in", 0)


class Teller:
    """Tells a core what the lines of a story say."""

    def __init__(self, me: str, candidate: bool, barriers: OwnBarriers | None) -> None:
        succession = Succession(_config(1, me)) if candidate else None
        bound = AdaptiveTimeout(20.0, 120.0)
        publication = Publication(me, Decisions(), 0, Delivery.EXACTLY_ONCE, bound, generation=int(candidate))
        settings = ReplicaSettings(giving=GivingSettings(barriers=barriers))
        self._core = ReplicaCore(publication, CatchUp(me, -1), 0.0, succession, settings=settings)
        self._now_ms, self._offset = 0.0, -1

    def tell(self, line: str) -> Iterator[str]:
        """What it wants done for an event, in words."""
        what, *words = line.split()
        self._now_ms += float(words[0]) if what == "tick" else 1.0
        for effect in self._core.step(self._event(what, words), self._now_ms):
            yield _words(effect)

    def _event(self, what: str, words: list[str]) -> ReplicaEvent:
        match what:
            case "config" | "cut" | "claim" | "answer":
                self._offset += 1
                return LogRecord(self._offset, _proposal(what, words))
            case "computed":
                return Computed(int(words[0]), words[1])
            case "needs":
                return Needs(int(words[0]), tuple(words[1:]))
            case "asked":
                return Asked(int(words[0]), words[1], (words[2],))
            case "marker":
                _, attempt = words[0].split("/")
                generation = int(words[words.index("generation") + 1]) if "generation" in words else 0
                return MarkerRecord(
                    Marker(int(words[0][0]), int(attempt), words[2], words[3], 1, 1, generation=generation)
                )
            case "done":
                step = self._core.step_under_way
                assert step is not None, "nothing is under way"
                return Done(step, Outcome(words[0]) if words else None)
            case "sees":
                return _seen(" ".join(words))
            case "stop":
                return Stop()
            case "tick":
                return Tick()
        raise ValueError(what)


def _seen(what: str) -> Seen:
    if what.startswith("its slot taken by "):
        return Seen(successor_holder=Holder(what.split()[-1], "a"))
    return {
        "its slot": Seen(slot=0),
        "its slot and a standby": Seen(slot=0, can_hand_over=True),
        "that others hold all slots": Seen(is_surplus=True),
    }[what]


def _config(generation: int, by: str) -> Config:
    return Config(generation, f"code {generation}", Offsets({IN: 0}), by)


def _proposal(what: str, words: list[str]) -> Proposal:
    if what == "config":
        return _config(int(words[0]), words[2])
    if what == "cut":
        epoch = int(words[0])
        time_ms = int(words[words.index("at") + 1]) if "at" in words else 0
        return Cut(epoch, Offsets({IN: 10 * (epoch + 1)}), time_ms, 0, "orderer-0", barrier="barrier" in words)
    if what == "answer":
        return Determinant(int(words[0]), words[1], 0, 1, (words[2],), words[4])
    epoch, attempt = map(int, words[0].split("/"))
    generation = int(words[words.index("generation") + 1]) if "generation" in words else 0
    return Claim(epoch, attempt, words[2], generation)


def _words(effect: Effect) -> str:
    match effect:
        case Append(Claim(epoch, attempt, owner, generation)):
            return f"append claim {epoch}/{attempt} by {owner}{f' generation {generation}' if generation else ''}"
        case Append(Config() as config):
            return f"append config {config.generation} by {config.proposer}"
        case Append(LagReport() as progress):
            return f"append progress: computed {progress.epoch}"
        case Append(Determinant() as answer):
            return f"append answer {answer.epoch} {answer.name} {answer.answers[0]} by {answer.proposer}"
        case Ask(epoch, question):
            return f"ask the outside world {question} for {epoch}"
        case Answer(epoch, question, answers):
            return f"tell the engine the answer {epoch} {question} {answers[0]}"
        case Compute(epoch):
            return f"compute {epoch.epoch}{', and commit the state' if epoch.barrier else ''}"
        case Expect(owner):
            return f"connect what is needed to fence {owner}"
        case Marked(marker):
            return f"drop the rows of {marker.epoch}"
        case Compared(epoch):
            return f"say that the state of {epoch} counts"
        case TookOver(claim, before):
            return f"report: took over {claim.epoch}/{claim.attempt} from {before}"
        case Begun(generation, after):
            return f"report: generation {generation} begins after epoch {after}"
        case HandedOver(to):
            return f"report: handed over to {to or 'nobody'}"
        case TellRole(role):
            return f"tell the others: it {role}"
        case SeekSuccessor():
            return "ask a standby to take over"
        case Fence(owners):
            return f"fence {', '.join(owners) or 'nobody'}"
        case ReadToEnd():
            return "read both logs to their ends"
        case RenewProducer():
            return "renew the producer"
        case Publish(epoch, attempt):
            return f"publish {epoch}/{attempt}"
        case CatchingUp() | CaughtUp():
            return "report: its lag"
        case Exit(error):
            return "exit" if error is None else f"exit: {type(error).__name__}"
    raise ValueError(effect)


def _barriers(line: str) -> OwnBarriers | None:
    """Of `me b barriers 1000 place 1 of 2`."""
    words = line.split()
    if "barriers" not in words:
        return None
    at = words.index("barriers")
    return OwnBarriers(int(words[at + 1]), int(words[at + 3]), int(words[at + 5]))


def told(story: str) -> str:
    """The story with what the core wants done now. Lines without indentation are comments, settings and events."""
    lines, teller = [], None
    for line in story.splitlines():
        if line.startswith("  "):
            continue
        lines.append(line)
        if line.startswith("me "):
            teller = Teller(line.split()[1], "candidate" in line, _barriers(line))
        elif line and not line.startswith("#"):
            assert teller is not None, "a story begins with who is told: `me <name>`"
            lines += [f"  {words}" for words in teller.tell(line)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_story_is_as_it_is_written(path: Path) -> None:
    story = path.read_text()
    if os.environ.get("TANDEM_REWRITE"):
        path.write_text(told(story))
    assert told(story) == path.read_text()


def test_there_are_the_stories_that_a_reviewer_looks_for() -> None:
    stories = {"take_over", "renewal", "switchover", "generation", "causal_answer", "barriers"}
    assert stories <= {path.stem for path in STORIES}
