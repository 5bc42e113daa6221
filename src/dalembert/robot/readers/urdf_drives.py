"""The drives of URDF joints: <transmission>, mechanicalReduction and Drake's rotors as :class:`Rotor`.

Drake describes a rotor by ``drake:rotor_inertia`` and ``drake:gear_ratio`` in the <actuator> of a transmission and
models only k_r² I_m on the joint's diagonal term: ``Rotor(reflected=True)``. The same two elements are read within a
joint. A gear ratio without an inertia, from ``drake:gear_ratio`` or ``mechanicalReduction``, gives a rotor without
inertia, which determines motor torque and speed. ``drake:gear_ratio`` takes precedence over ``mechanicalReduction``,
which Drake ignores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from xml.etree.ElementTree import Element

from dalembert.base.tables.located import XmlElement, XmlParent
from dalembert.errors import RobotError
from dalembert.robot.model.robot import Rotor

INERTIA, RATIO, REDUCTION = "drake:rotor_inertia", "drake:gear_ratio", "mechanicalReduction"
SIMPLE = ("", "SimpleTransmission")
Note = Callable[[str, str, bool], None]  # (kind, which, whether torques depend on it)
Drive = dict[str, float]  # {INERTIA, RATIO, REDUCTION: number}, as far as they are given


def gear_of(drive: Drive) -> float:
    """k_r"""
    return drive.get(RATIO, drive.get(REDUCTION, 1.0))


def rotor_of(drive: Drive) -> Rotor | None:
    """The rotor; None if nothing is given, or only a gear ratio of 1."""
    inertia, gear = drive.get(INERTIA, 0.0), gear_of(drive)
    return Rotor(inertia, gear, reflected=True) if inertia or gear != 1.0 else None


def drive_of(element: Element, where: str) -> Drive:
    """The data in Drake's two elements within an actuator or a joint."""
    values = {tag: _value(element, tag, where) for tag in (INERTIA, RATIO)}
    return {tag: value for tag, value in values.items() if value is not None}


def read_drives(root: Element, source: str, note: Note) -> dict[str, Drive]:
    """{joint: motor data from the transmissions of a file}.

    Two motors on one joint are combined into one with the gear ratio of the first and the reflected inertia of both.
    """
    drives: dict[str, Drive] = {}
    names = {joint.get("name", "") for joint in root.findall("joint")}
    for transmission in root.findall("transmission"):
        drive = _transmission(transmission, source, note)
        joints = [joint.get("name", "") for joint in transmission.findall("joint")]
        which = f"transmission '{transmission.get('name', '')}'"
        if not drive:
            continue
        kind = (transmission.findtext("type") or transmission.get("type") or "").strip().rpartition("/")[2]
        if len(joints) != 1 or kind not in SIMPLE:
            what = "drives several joints or has an unsupported type, so no rotor is derived from it"
            note(
                what, f"{which} ({kind or 'no type'}, joints: {', '.join(joints) or 'none'})", bool(drive.get(INERTIA))
            )
        elif joints[0] not in names:
            note("the joint of a transmission does not exist", f"{which} (joint '{joints[0]}')", False)
        else:
            drives[joints[0]] = _both(drives[joints[0]], drive) if joints[0] in drives else drive
    return drives


def _both(first: Drive, second: Drive) -> Drive:
    inertia = first.get(INERTIA, 0.0) + second.get(INERTIA, 0.0) * (gear_of(second) / gear_of(first)) ** 2
    return {**first, INERTIA: inertia}


def _transmission(transmission: Element, source: str, note: Note) -> Drive:
    where = f"{source}: transmission '{transmission.get('name', '')}'"
    drive: Drive = {}
    for actuator in transmission.findall("actuator"):
        drive = drive_of(actuator, where) | drive
    holders = (*transmission.findall("actuator"), *transmission.findall("joint"), transmission)
    reduction = next((x for x in (XmlParent(holder, where) for holder in holders) if REDUCTION in x), None)
    if reduction is None:
        return drive
    gear = reduction.number(REDUCTION)
    if gear == 0.0:
        note(f"{REDUCTION} is 0 and was ignored", f"transmission '{transmission.get('name', '')}'", False)
    return {**drive, REDUCTION: gear} if gear else drive


def _value(parent: Element, tag: str, where: str) -> float | None:
    element = XmlElement(parent.find(tag), where)
    if not element.given:
        return None
    if "value" not in element:
        raise RobotError(f"{where}: <{tag}> has no 'value'; write <{tag} value=\"…\"/>")
    value = element.number("value")
    if (value < 0.0 and tag == INERTIA) or (value == 0.0 and tag == RATIO):
        raise element.wrong("value", element.text("value"), "at least 0" if tag == INERTIA else "other than 0")
    return value


def update_drives(transmissions: list[Element], rotors: Mapping[str, Rotor | None]) -> None:
    """Update the motor data in kept <transmission> elements to the joints' current rotors."""
    root = Element("robot")
    root.extend(Element("joint", name=name) for name in rotors)
    root.extend(transmissions)
    drives = read_drives(root, "transmissions", lambda *_: None)
    for name, drive in drives.items():
        rotor, read = rotors[name] or Rotor(), rotor_of(drive) or Rotor()
        if (rotor.inertia, rotor.gear) == (read.inertia, read.gear):
            continue
        driving = [x for x in transmissions if [y.get("name") for y in x.findall("joint")] == [name]]
        for k, transmission in enumerate(driving):  # with several motors, the first has all of the inertia
            _update(transmission, rotor.inertia if k == 0 else 0.0, rotor.gear)


def _update(transmission: Element, inertia: float, gear: float) -> None:
    beaten = any(element.tag == RATIO for element in transmission.iter())
    for element in transmission.iter():
        if element.tag in (INERTIA, RATIO):
            element.set("value", repr(inertia if element.tag == INERTIA else gear))
        elif element.tag == REDUCTION and not beaten:
            element.text = repr(gear)
