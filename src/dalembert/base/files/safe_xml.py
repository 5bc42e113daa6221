"""Reader of untrusted XML: returns a tree, or refuses the text in one sentence that names the file.

Robot files need neither document types nor entities, so both are refused; this rules out attacks
that expand a kilobyte into gigabytes or read other files. Size, depth and number of elements are
bounded. Prefixes ("drake:rotor_inertia") stay part of the names, declared or not, as is usual in
robot files.
"""

from __future__ import annotations

import os
from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from dalembert.base.files import read_bounded
from dalembert.base.files.file_bounds import XML_ATTRIBUTES, XML_BYTES, XML_DEPTH, XML_ELEMENTS, at_most
from dalembert.errors import RobotError

BLANKS = "\ufeff \t\r\n"  # what may precede the first element of a text
# {root element: (format, remedy for a file of this format that was taken for another)}
FORMATS = {
    "robot": ("URDF", "rename the file to .urdf"),
    "mujoco": ("MJCF", "rename the file to .xml or .mjcf"),
    "sdf": ("SDF", "rename the file to .sdf"),
}


def check_format(root: Element, tag: str, source: str) -> None:
    """Refuse a document whose root element is not ``tag``."""
    wanted, _ = FORMATS[tag]
    if root.tag != tag and root.tag in FORMATS:
        other, remedy = FORMATS[root.tag]
        raise RobotError(f"{source}: this is {other}, not {wanted}; {remedy}")
    if root.tag != tag:
        raise RobotError(f"{source}: the root element is <{root.tag}>; {wanted} files begin with <{tag}>")


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The content of the file; otherwise an error with the reason."""
    return read_bounded(path, XML_BYTES, "robot file", RobotError)


def file_or_text(path_or_text: str | os.PathLike[str], name: str) -> tuple[str | bytes, str]:
    """The content of a file and its path; a string that begins with ``<`` is itself the content, called ``name``."""
    if isinstance(path_or_text, str) and path_or_text.lstrip(BLANKS).startswith("<"):
        return path_or_text.lstrip(BLANKS), name
    return read_bytes(path_or_text), os.fspath(path_or_text)


def parse_xml(content: str | bytes, source: str) -> Element:
    """The root element of an XML document."""
    if not content.strip():
        raise RobotError(f"{source}: the file is empty")
    # text is already decoded, so the encoding in its XML declaration no longer applies
    parser = expat.ParserCreate("utf-8" if isinstance(content, str) else None)
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    at_most(XML_BYTES, len(data), "bytes", source)
    at_most(XML_ATTRIBUTES, data.count(b"="), "attributes", source)
    if b"\0" in data[:4096] and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):  # byte order marks of UTF-16
        raise RobotError(f"{source}: this is a binary file, not XML text")
    builder, depth, count = TreeBuilder(), 0, 0

    def refuse(*_: object) -> NoReturn:
        raise RobotError(
            f"{source}, line {parser.CurrentLineNumber}: a document type or entity is declared, which is refused because "
            "robot files need none; delete the <!DOCTYPE …> part"
        )

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, count
        depth, count = depth + 1, count + 1
        if depth > XML_DEPTH:
            raise RobotError(
                f"{source}, line {parser.CurrentLineNumber}: elements are nested more than {XML_DEPTH} deep at <{tag}>"
            )
        at_most(XML_ELEMENTS, count, "XML elements", source)
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.buffer_text = True
    try:
        parser.Parse(data, True)
    except RobotError:
        raise
    except expat.ExpatError as error:
        raise RobotError(f"{source}: this is not well-formed XML ({error})") from None
    except (LookupError, ValueError) as error:  # the declared encoding
        raise RobotError(f"{source}: the XML declaration is invalid ({error})") from None
    return builder.close()
