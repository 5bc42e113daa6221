"""XML elements without dynamics, kept as text so that a URDF that is read and written again still has them.

The text is canonical: no comments, no white space between elements. Elements that name a joint or link
are written only where the robot still has it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from xml.etree.ElementTree import Element, tostring

from dalembert.robot.safe_xml import parse_xml

REFERRING = ("reference", "link", "joint")  # attributes that name a link or a joint
NAMED = ("link", "joint")  # elements that name one by their attribute "name"


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
    copy.text = element.text if element.text and element.text.strip() else None
    copy.tail = element.tail if element.tail and element.tail.strip() else None
    return copy


def kept_elements(texts: Iterable[str], names: Collection[str]) -> list[Element]:
    """The kept elements, less those that refer to links and joints that are not among ``names``.

    >>> [x.tag for x in kept_elements(['<gazebo reference="a"/>', '<gazebo/>', '<transmission><joint name="b"/></transmission>'], {"b"})]
    ['gazebo', 'transmission']
    """
    elements = (parse_xml(text, "an element that is kept") for text in texts)
    return [element for element in elements if _referred(element) <= set(names)]


def _referred(element: Element) -> set[str]:
    """The names of the links and joints that an element refers to."""
    names: set[str] = set()
    for part in element.iter():
        names |= {part.attrib[key] for key in REFERRING if part.get(key)}
        if part.tag in NAMED and part.get("name"):
            names.add(part.attrib["name"])
    return names


def prefixes(root: Element) -> set[str]:
    """The prefixes of the names in a document ("drake" of drake:gear_ratio), which strict readers want declared.

    >>> prefixes(parse_xml("<a><b:c d:e='1'/></a>", "text")) == {"b", "d"}
    True
    """
    names = (name for part in root.iter() for name in (part.tag, *part.attrib))
    return {name.partition(":")[0] for name in names if ":" in name and not name.startswith(("xmlns:", "xml:"))}
