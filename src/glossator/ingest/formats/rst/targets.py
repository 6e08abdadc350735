"""Gives the names of targets to what follows them, as docutils does, in linear time."""

from __future__ import annotations

from docutils import nodes
from docutils.transforms.references import PropagateTargets


class LinearTargets(PropagateTargets):
    """Replaces docutils' transform, which searches the page for each target and copies the names of those above it."""

    def apply(self) -> None:
        """Give the names of every target directly to the element that has them in the end."""
        followers = _followers(self.document)
        owners: dict[int, nodes.Element] = {}
        for target, follower in reversed(followers):
            owner = owners.get(id(follower), follower)
            if isinstance(owner, nodes.Element) and _is_block_target(target) and _takes_names(owner):
                owners[id(target)] = owner
                self._move(target, owner)

    def _move(self, target: nodes.target, owner: nodes.Element) -> None:
        owner["ids"].extend(target["ids"])
        owner["names"].extend(target["names"])
        for attribute, names in (("expect_referenced_by_name", "names"), ("expect_referenced_by_id", "ids")):
            expected = owner.__dict__.setdefault(attribute, {})
            expected.update(dict.fromkeys(target[names], target))
        self.document.ids.update(dict.fromkeys(target["ids"], owner))
        if isinstance(target.parent, nodes.figure) and isinstance(owner, nodes.caption):
            target.parent.remove(target)
            return
        target["refid"] = target["ids"][0]
        target["ids"], target["names"] = [], []
        self.document.note_refid(target)


def _followers(document: nodes.document) -> list[tuple[nodes.target, nodes.Node | None]]:
    """Every target with the node after it, in the order of the page; messages of the parser do not count."""
    found: list[tuple[nodes.target, nodes.Node | None]] = []
    waiting: list[nodes.target] = []
    messages = {id(node) for message in document.findall(nodes.system_message) for node in message.findall()}
    for node in document.findall():
        if id(node) in messages:
            continue
        found += [(target, node) for target in waiting]
        waiting = [node] if isinstance(node, nodes.target) else []
    return found + [(target, None) for target in waiting]


def _is_block_target(target: nodes.target) -> bool:
    """Whether it is a name of what follows, and not of an address."""
    is_reference = any(map(target.hasattr, ("refid", "refuri", "refname")))
    return not isinstance(target.parent, nodes.TextElement) and not is_reference


def _takes_names(node: nodes.Element) -> bool:
    """Invisible elements would lose the names; footnotes and the like have their own."""
    return isinstance(node, nodes.target) or not isinstance(node, nodes.Invisible | nodes.Targetable)
