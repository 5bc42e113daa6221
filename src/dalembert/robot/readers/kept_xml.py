"""XML elements without dynamics, kept as text so that they survive reading and writing a URDF file.

The text is canonical: no comments, no white space between elements. Elements that refer to a joint or link
are written only if the robot still has it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from xml.etree.ElementTree import Element, tostring

from dalembert.base.files.safe_xml import parse_xml

REFERRING = ("reference", "link", "joint")  # attributes that refer to a link or a joint
NAMED = ("link", "joint")  # elements that refer to one by their attribute "name"


def kept_text(element: Element) -> str:
    """The element as canonical text.

    >>> kept_text(parse_xml("<a b='1'>  <c>  </c> </a>", "text"))
    '<a b="1"><c /></a>'
    """
    copy = _bare(element)
    copy.tail = None
    return tostring(copy, encoding="unicode")


def _bare(element: Element) -> Element:
    """A copy without white space between elements."""
    copy = Element(element.tag, dict(element.attrib))
    for child in element:
        copy.append(_bare(child))
    copy.text, copy.tail = (x if x and x.strip() else None for x in (element.text, element.tail))
    return copy


def kept_elements(texts: Iterable[str], names: Collection[str]) -> list[Element]:
    """The kept elements, except those that refer to links and joints not among ``names``.

    >>> [x.tag for x in kept_elements(['<gazebo reference="a"/>', '<gazebo/>', '<transmission><joint name="b"/></transmission>'], {"b"})]
    ['gazebo', 'transmission']
    """
    elements = (parse_xml(text, "a kept element") for text in texts)
    return [element for element in elements if _referred(element) <= set(names)]


def _referred(element: Element) -> set[str]:
    """The names of the links and joints that an element refers to."""
    parts = [(part, (*REFERRING, "name") if part.tag in NAMED else REFERRING) for part in element.iter()]
    return {part.attrib[key] for part, keys in parts for key in keys if part.get(key)}


def prefixes(root: Element) -> set[str]:
    """The prefixes used in a document ("drake" in drake:gear_ratio), which strict parsers require to be declared.

    >>> prefixes(parse_xml("<a><b:c d:e='1'/></a>", "text")) == {"b", "d"}
    True
    """
    names = (name for part in root.iter() for name in (part.tag, *part.attrib))
    return {name.partition(":")[0] for name in names if ":" in name and not name.startswith(("xmlns:", "xml:"))}
