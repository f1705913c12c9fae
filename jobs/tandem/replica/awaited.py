"""What the publication of a replica's oldest epoch waits for, in words. Pure."""

from tandem.protocol.actions import Action, Fence, ReadToEnd, RenewProducer
from tandem.protocol.publication import Publication


def awaited(action: Action | None, publication: Publication, ordering_topic: str, commits_topic: str) -> str:
    """The step that the head's publication is at, while `action` is what this replica does for it."""
    match action:
        case Fence(owners):
            return f"the fencing of {', '.join(owners)}, which did not publish it"
        case ReadToEnd():
            return f"the ends of {ordering_topic} and {commits_topic}"
        case RenewProducer():
            return "a new producer, which Kafka initialises"
    claim = publication.decisions.owner(publication.head)
    if claim is None:
        return f"a claim of it in {ordering_topic}"
    return f"its marker in {commits_topic}, by {claim.owner}"
