"""Located values: a mapping, attributes and child elements have the same types and the same style of error."""

from xml.etree.ElementTree import fromstring

import pytest

from dalembert.base.tables.located import Table, XmlElement, XmlParent
from dalembert.errors import RobotError

TABLE = Table({"mass": 2, "com": [1, 0, 0], "on": True, "kind": "box", "name": ""}, "a.toml: link 'b'", None)
ATTRIBUTES = XmlElement(fromstring('<body mass="2" com="1 0 0" on="true" kind="box" name=""/>'), "a.urdf: link 'b'")
CHILDREN = XmlParent(
    fromstring("<body><mass>2</mass><com> 1 0 0 </com><on>1</on><kind>box</kind></body>"), "a.sdf: link 'b'"
)


@pytest.mark.parametrize("located", [TABLE, ATTRIBUTES, CHILDREN], ids=["mapping", "attributes", "children"])
def test_every_source_gives_the_same_values(located):
    assert located.number("mass") == 2.0 and located.vector("com") == (1.0, 0.0, 0.0)
    assert located.flag("on") is True and located.text("kind") == "box"
    assert "radius" not in located and located.number("radius", None) is None
    with pytest.raises(RobotError, match=r"^a\.\w+: link 'b'.*radius"):
        located.number("radius")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: TABLE.number("kind"), "a.toml: link 'b': 'kind' is 'box'; it must be a number"),
        (lambda: TABLE.flag("mass"), "a.toml: link 'b': 'mass' is 2; it must be true or false"),
        (lambda: TABLE.numbers("com", 2), r"a.toml: link 'b': 'com' is \[1, 0, 0\]; it must be a list of 2 numbers"),
        (lambda: TABLE.name("name"), "'name' is ''; it must be a name of 1 to 1000 characters"),
        (lambda: TABLE.choice("kind", ("sphere",)), "'kind' is 'box'; it must be one of 'sphere'"),
        (lambda: ATTRIBUTES.number("kind"), "a.urdf: link 'b': 'kind' of <body> is 'box'; it must be a number"),
        (lambda: ATTRIBUTES.flag("kind"), "'kind' of <body> is 'box'; it must be true or false"),
        (lambda: ATTRIBUTES.name("name"), "a.urdf: link 'b': <body> has no 'name'"),
        (lambda: CHILDREN.numbers("com", 6), "a.sdf: link 'b': <com> is '1 0 0'; it must be 6 numbers, not 3"),
        (lambda: CHILDREN.text("pose"), "a.sdf: link 'b' has no <pose>"),
        (lambda: Table({"mas": 1}, "a.toml", ("mass",)), "a.toml: unknown key 'mas'; did you mean 'mass'"),
    ],
)
def test_a_wrong_value_is_one_sentence_that_names_its_place(call, sentence):
    with pytest.raises(RobotError, match=sentence):
        call()
