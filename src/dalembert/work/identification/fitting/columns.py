"""Options for terms besides links, rotors, viscous and Coulomb friction: terms at joints, and drives shared by two joints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.tables.wording import nearest
from dalembert.errors import DalembertError
from dalembert.robot.terms import TERMS, Coulomb, Harmonic, Stribeck, Tanh, Term, Viscous
from dalembert.work.identification.fitting.parameter_set import FRICTION, Drive, JointTerm

HEAT = "temperature"  # requests temperature-dependent friction among terms


def joint_index(arm: Arm, joint: str | int) -> int:
    """The index of a joint, given by its name or its number from 1."""
    if isinstance(joint, str) and joint in arm.joint_names:
        return arm.joint_names.index(joint)
    if isinstance(joint, str) and joint.isdigit():
        joint = int(joint)
    if isinstance(joint, int) and 1 <= joint <= arm.n:
        return joint - 1
    known = arm.joint_names
    raise DalembertError(
        f"arm '{arm.name}' has no joint '{joint}'; its joints are {', '.join(known)} (1 … {arm.n}){nearest(str(joint), known)}"
    )


def joints_of(arm: Arm, option: str, given: Any) -> bool | tuple[int, ...]:
    """Joints of the tree, given by names or numbers from 1 of joints of q; True for all of them."""
    if isinstance(given, bool):
        return given
    return tuple(arm.mechanism.actuated[joint_index(arm, joint)] for joint in _listed(option, given, "[2]"))


def friction_of(arm: Arm, given: Any) -> tuple[str, ...] | dict[int, tuple[str, ...]]:
    """The friction of every joint, or by joints of the tree; both kinds by default."""
    if given is None:
        return FRICTION
    if isinstance(given, Mapping):
        return {arm.mechanism.actuated[joint_index(arm, joint)]: _kinds(law) for joint, law in given.items()}
    return _kinds(given)


def _kinds(law: Any) -> tuple[str, ...]:
    if not isinstance(law, (list, tuple)):
        raise DalembertError(f"friction is {law!r}; it must be a tuple of {' and '.join(FRICTION)}, or () for none")
    return tuple(law)


def held_terms(arm: Arm, terms: Mapping[int, Term]) -> tuple[JointTerm, ...]:
    """Terms by the numbers of the joints of q, from 0."""
    return tuple((arm.mechanism.actuated[j], term) for j, term in terms.items())


def stribeck_terms(arm: Arm, speeds: Array) -> tuple[JointTerm, ...]:
    """Stribeck friction at every joint of q."""
    return held_terms(arm, {j: Stribeck(0.0, v) for j, v in enumerate(speeds.tolist())})


def gradual_terms(arm: Arm, widths: Array, centres: Array) -> tuple[JointTerm, ...]:
    """Coulomb friction that changes sign gradually, at a speed that need not be zero, at every joint of q."""
    shapes = zip(widths.tolist(), centres.tolist(), strict=True)
    return held_terms(arm, {j: Tanh(0.0, w, c) for j, (w, c) in enumerate(shapes)})


def balance_terms(arm: Arm, joints: Sequence[str | int]) -> tuple[JointTerm, ...]:
    """A counterbalance (spring, gas or hydraulic) on a joint: sin q, cos q, sin 2q, cos 2q of its own angle."""
    terms: list[JointTerm] = []
    for joint in _listed("balance", joints, "[2]"):
        j = joint_index(arm, joint)
        _check_turns(arm, j, "a counterbalance")
        terms += [(arm.mechanism.actuated[j], Harmonic(order)) for order in (1.0, 2.0)]
    return tuple(terms)


def _check_turns(arm: Arm, j: int, what: str) -> None:
    if arm.robot.moving_joints[j].type == "prismatic":
        raise DalembertError(f"joint '{arm.joint_names[j]}' is prismatic; {what} acts on a revolute joint only")


def drives_of(arm: Arm, pairs: Sequence[Any]) -> tuple[Drive, ...]:
    """Drives that are coupled to two joints: (i, j), or (i, j, r) for one with the speed r q̇_i + q̇_j."""
    drives: list[Drive] = []
    for pair in _listed("coupling", pairs, "[(5, 6)]"):
        if not isinstance(pair, (list, tuple)) or len(pair) not in (2, 3):
            raise DalembertError(
                f"coupling contains {pair!r}; an entry must be two joints, such as (5, 6), optionally followed by a ratio"
            )
        i, j, ratio = joint_index(arm, pair[0]), joint_index(arm, pair[1]), pair[2] if len(pair) == 3 else 1.0
        if i == j or not isinstance(ratio, (int, float)) or not np.isfinite(ratio) or ratio == 0:
            raise DalembertError(
                f"coupling contains {pair!r}; an entry must be two different joints, with a ratio that is not 0"
            )
        drives.append(Drive(i, j, float(ratio)))
    return tuple(drives)


def _listed(option: str, value: Any, example: str) -> Sequence[Any]:
    """The option, checked to be a list."""
    if not isinstance(value, (list, tuple)):
        raise DalembertError(f"{option} is {value!r}; it must be a list, such as {example}")
    return value


def terms_of(arm: Arm, pattern: Any) -> tuple[JointTerm, ...]:
    """The terms of a pattern: names, or {name: shape}, for every joint of q, or {joint: pattern} for some.

    >>> import dalembert as da
    >>> terms_of(da.load("planar-2r"), {"joint2": {"spring": {"rest": 0.2}}})
    ((1, Spring(physical=True, stiffness=0.0, rest=0.2)),)
    >>> [term.name for _, term in terms_of(da.load("planar-2r"), ["load"])]
    ['load', 'load']
    """
    if isinstance(pattern, Mapping) and not all(key in TERMS and key not in arm.joint_names for key in pattern):
        entries = [(joint_index(arm, joint), entry) for joint, entry in pattern.items()]
    else:
        entries = [(j, pattern) for j in range(arm.n)]
    terms = [(j, term) for j, entry in entries for term in _terms(entry)]
    for j, term in terms:
        if term.turns:
            _check_turns(arm, j, term.title)
    return tuple((arm.mechanism.actuated[j], term) for j, term in terms)


def heated_joints(arm: Arm, pattern: Any) -> tuple[Any, tuple[int, ...]]:
    """A pattern of terms without ``"temperature"``, and the joints of q, from 0, for which that is requested.

    >>> import dalembert as da
    >>> heated_joints(da.load("planar-2r"), {"joint2": ["temperature", "load"]})
    ({'joint2': ['load']}, (1,))
    """
    if isinstance(pattern, Mapping) and not all(
        key in (*TERMS, HEAT) and key not in arm.joint_names for key in pattern
    ):
        entries = {joint: _without_heat(entry) for joint, entry in pattern.items()}
        heated = [joint_index(arm, joint) for joint, (_, has) in entries.items() if has]
        return {joint: entry for joint, (entry, _) in entries.items()}, tuple(dict.fromkeys(heated))
    entry, has = _without_heat(pattern)
    return entry, tuple(range(arm.n)) if has else ()


def _without_heat(entry: Any) -> tuple[Any, bool]:
    """The terms of a joint without temperature-dependent friction, and whether that is requested too."""
    if entry == HEAT:
        return (), True
    if isinstance(entry, Mapping) and HEAT in entry:
        if entry[HEAT] not in ({}, [{}], ()):
            raise DalembertError(f"'{HEAT}' is given with {entry[HEAT]!r}; it has no shape: give {{'{HEAT}': {{}}}}")
        return {name: shape for name, shape in entry.items() if name != HEAT}, True
    if isinstance(entry, (list, tuple)) and HEAT in entry:
        return [name for name in entry if name != HEAT], True
    return entry, False


def _terms(entry: Any) -> list[Term]:
    """The terms of one joint: a name, several, or {name: shape, or a list of shapes}."""
    names = [entry] if isinstance(entry, str) else entry
    if not isinstance(names, (list, tuple, Mapping)) or not all(isinstance(name, str) for name in names):
        raise DalembertError(f"the terms of a joint are {entry!r}; give names, or {{name: shape}}")
    shapes = names if isinstance(names, Mapping) else {name: {} for name in names}
    return [
        _shaped(name, numbers)
        for name, shape in shapes.items()
        for numbers in (shape if isinstance(shape, (list, tuple)) else [shape])
    ]


def _shaped(name: str, shape: Any) -> Term:
    """A term with its shape and zero coefficients."""
    if name not in TERMS:
        known = [*TERMS, HEAT]
        raise DalembertError(f"there is no term '{name}'; known are {', '.join(known)}{nearest(name, known)}")
    kind = TERMS[name]
    if kind in (Viscous, Coulomb):
        raise DalembertError(f"{name} friction is not one of the terms; use friction=('viscous', 'coulomb')")
    known = [entry.name for entry in kind.numbers() if entry.name not in kind.linear()]
    if not isinstance(shape, Mapping) or any(key not in known for key in shape):
        raise DalembertError(
            f"{kind.title} is given with {shape!r}; give its shape, {{{', '.join(known) or 'nothing'}}}: "
            f"{', '.join(kind.linear())} {'are' if len(kind.linear()) > 1 else 'is'} identified from the log"
        )
    if missing := [number for number in kind.needed() if number in known and number not in shape]:
        raise DalembertError(f"{kind.title} needs {' and '.join(missing)}; give {{'{name}': {{'{missing[0]}': …}}}}")
    return kind.read({**dict.fromkeys(kind.linear(), 0.0), **shape})


def pattern_of(names: Sequence[str], terms: Iterable[tuple[str, Term]], heated: Iterable[str]) -> dict[str, Any]:
    """The pattern {joint: {name: shapes}} that requests these terms, and friction that depends on the temperature."""
    pattern: dict[str, dict[str, list[dict[str, float]]]] = {name: {} for name in names}
    for joint, term in terms:
        shape = {x.name: getattr(term, x.name) for x in term.numbers() if x.name not in term.linear()}
        pattern[joint].setdefault(term.name, []).append(shape)
    for joint in heated:
        pattern[joint][HEAT] = [{}]
    return pattern
