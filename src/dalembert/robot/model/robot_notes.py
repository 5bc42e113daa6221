"""Notes on a robot: sentences for a person, with the topic by which a program recognises them."""

from __future__ import annotations

from collections.abc import Iterable

# topics of notes that every command prints
PRINTED = {"tip", "unknown limits", "right angles", "passive limits", "environment"}


class Note(str):
    """A sentence and its topic, which no file keeps; it equals the plain sentence.

    >>> Note("the file names no tip", "tip").topic
    'tip'
    """

    topic: str

    def __new__(cls, sentence: str, topic: str) -> Note:
        note = super().__new__(cls, sentence)
        note.topic = topic
        return note

    def __reduce__(self) -> tuple[type[Note], tuple[str, str]]:
        return Note, (str(self), self.topic)


def notes_on(notes: Iterable[str], topics: Iterable[str]) -> list[str]:
    """The notes on some topics."""
    return [note for note in notes if isinstance(note, Note) and note.topic in topics]


def without(notes: Iterable[str], topic: str) -> list[str]:
    """The notes on other topics, or on none."""
    return [note for note in notes if not (isinstance(note, Note) and note.topic == topic)]
