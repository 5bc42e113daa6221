"""MJCF reader, based on MuJoCo's own compiler: its defaults, classes, includes and inertia rules apply unchanged.

The compiler runs in the helper process, see :mod:`dalembert.robot.readers.mujoco_compiler`; this module turns its numbers into
a robot. Mesh files are needed only for bodies that take their inertia from a mesh. MuJoCo's armature becomes a
reflected rotor inertia, the joint attribute ``ref`` an offset, stiffness and springref a joint spring, and gravcomp
reduces the weight of a link. The equality constraints ``connect`` and ``weld`` become loops, whose passive joints are,
as far as possible, those without an actuator. Joint equalities become couplings: the first joint follows the second,
or, in the linear case, the joint without an actuator follows the other. Everything else that affects torques (tendons,
fluid, contacts, other equality constraints) is listed in ``Robot.left_out``, and ignored elements that do not in
``Robot.notes``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from dalembert.base.algebra.vectors import ZERO, Mat, Vec
from dalembert.base.files.file_bounds import (
    MJCF_BODIES,
    MJCF_ELEMENTS,
    MJCF_HEIGHTS,
    MJCF_JOINTS,
    MJCF_NUMBERS,
    at_most,
)
from dalembert.base.files.reader_process import ask
from dalembert.base.files.safe_toml import decoded
from dalembert.base.files.safe_xml import check_format, file_or_text, parse_xml, read_bytes
from dalembert.base.wording import errors_at
from dalembert.errors import RobotError
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.joint_couplings import Coupling
from dalembert.robot.model.loop_joints import Loop, with_passive
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import Frame, Friction, Joint, Limits, Link, Robot, Rotor
from dalembert.robot.readers.mjcf_files import check_regular, submodels
from dalembert.robot.readers.robot_builder import RobotBuilder

TEXT = "MJCF text"
VIRTUAL_KINDS = {"free": "floating", "ball": "ball"}  # read as virtual joints
NUMBERS = {"size": ("nuser", "nkey"), "numeric": ("size",), "user": ("dim",)}  # prefixes of attributes that are counts
ROUNDING = 1e-15  # deviation from an exact 0 or ±1 after conversion from a quaternion


def read_mjcf(path_or_text: str | os.PathLike[str], tip: str | None = None) -> Robot:
    """The robot described by an MJCF file, or by MJCF text (any string that begins with ``<``).

    ``tip`` names a body or a site; by default the tip is the last body, or its site if it has exactly one.
    """
    content, source = file_or_text(path_or_text, TEXT)
    root = parse_xml(content, source)
    check_format(root, "mujoco", source)
    _check_counts(root, source)
    text, folder = (content if isinstance(content, str) else None), None
    if isinstance(content, bytes):
        check_regular(Path(source))
        if not source.endswith(".xml"):  # MuJoCo opens no other suffix: pass the content as text
            text = decoded(content, source, "save it in UTF-8, or rename it to .xml")
            folder = os.path.dirname(os.path.abspath(source))
    plain, arrays = ask(
        "dalembert.robot.readers.mujoco_compiler:compiled",
        {"source": source, "text": text, "folder": folder},
        where=source,
        reader="MuJoCo's compiler",
        error=RobotError,
    )
    _check_numbers(arrays, source)
    return _MjcfReader(SimpleNamespace(**plain, **arrays), source).robot(tip)


def _check_numbers(arrays: Mapping[str, NDArray[Any]], source: str) -> None:
    """Refuse non-finite numbers: MuJoCo accepts any size, and overflow gives infinities or zero quaternions."""
    for name, values in arrays.items():
        whole = np.isfinite(values)
        if name.endswith("quat"):
            whole = whole & values.any(axis=-1, keepdims=True)
        if not whole.all():
            at = int(np.argwhere(~whole)[0][0])
            raise RobotError(
                f"{source}: MuJoCo's compiler turns {name} {at} into {values[at].tolist()}, because numbers in the file are too "
                "large or too small; give them in SI units"
            )


def _check_counts(root: Element, source: str) -> None:
    """Refuse models that expand to excessive size, before MuJoCo builds them; includes are followed."""
    folder = "" if source == TEXT else os.path.dirname(source)
    included: set[str] = set()
    models = {} if source == TEXT else submodels(Path(source))
    elements, bodies, joints, heights = 0.0, 0.0, 0.0, 0.0
    waiting = [(root, 1.0, False, folder)]
    while waiting:
        element, copies, in_world, beside = waiting.pop()
        tag, in_world = element.tag, in_world or element.tag == "worldbody"
        elements += copies
        bodies += copies if tag == "body" else 0.0
        joints += copies if tag == "joint" and in_world else 0.0
        if tag in ("composite", "flexcomp"):
            elements += copies * _product(element, "count")
        if tag == "replicate":
            copies *= _product(element, "count")
        if tag == "hfield":
            heights += _product(element, "nrow") * _product(element, "ncol")
        if tag == "include":
            file = _included(element, folder, beside)
            if file is not None and file not in included:  # MuJoCo includes each file only once
                included.add(file)
                waiting.append((parse_xml(read_bytes(file), file), copies, in_world, os.path.dirname(file)))
        if tag == "attach":  # every copy of a sub-model counts
            attached = models.get(element.get("model", ""), [])
            waiting += [(part, copies, in_world, str(at.parent)) for at, part in attached]
        for key in [key for key in element.attrib if key.startswith(NUMBERS.get(tag, "\0"))]:
            at_most(MJCF_NUMBERS, _product(element, key), f"numbers in {key} of <{tag}>", source)
        at_most(MJCF_ELEMENTS, elements, "elements (including those of included files and replicated ones)", source)
        at_most(MJCF_BODIES, bodies, "bodies", source)
        at_most(MJCF_JOINTS, joints, "joints", source)
        at_most(MJCF_HEIGHTS, heights, "points in height fields", source)
        waiting += [(child, copies, in_world, beside) for child in element]


def _included(element: Element, folder: str, beside: str) -> str | None:
    """The included file, or None if it does not exist, which MuJoCo reports."""
    name = element.get("file", "")
    files = [os.path.join(place, name) for place in (folder, beside)]
    return next((file for file in files if name and "\0" not in file and os.path.exists(file)), None)


def _product(element: Element, key: str) -> float:
    """The product of an attribute's numbers, at least 1; 1 if they are not numbers, which MuJoCo refuses."""
    try:
        return math.prod(max(1.0, float(part)) for part in element.get(key, "").split())
    except ValueError:
        return 1.0


def shifted(coefficients: Sequence[float], about: float) -> list[float]:
    """The coefficients of Σ c_k (x − about)^k in powers of x.

    >>> shifted([1.0, 2.0, 3.0], 1.0)
    [2.0, -4.0, 3.0]
    """
    out = list(coefficients)
    for k in range(len(out)):
        for i in reversed(range(k, len(out) - 1)):
            out[i] -= about * out[i + 1]
    return out


def _vector(values: Any) -> Vec:
    return Vec(map(float, values))


def _clean(R: Mat) -> Mat:
    """A rotation with exact entries 0 and ±1 in place of those rounded by the quaternion."""

    def exact(x: float) -> float:
        near = float(round(x))
        return near if abs(x - near) <= ROUNDING else x

    return Mat.of(map(exact, row) for row in R)


def _placement(position: Any, quaternion: Any) -> Placement:
    turned = Placement.quaternion(*map(float, quaternion))
    return Placement(_clean(turned.rotation), _vector(position))


def _inertia(model: Any, body: int) -> Inertia:
    """The inertia of a body; MuJoCo stores principal moments and the frame of the principal axes."""
    frame = _placement(model.body_ipos[body], model.body_iquat[body])
    a, b, c = _vector(model.body_inertia[body])
    R, principal = frame.rotation, Mat.of(((a, 0.0, 0.0), (0.0, b, 0.0), (0.0, 0.0, c)))
    tensor = R @ (principal @ R.T)
    noise = ROUNDING * max(a, b, c)
    exact = tuple(tuple(0.0 if abs(x) <= noise else x for x in row) for row in tensor)
    return Inertia(float(model.body_mass[body]), frame.translation, exact)


class _MjcfReader(RobotBuilder):
    """Turns a compiled model into a robot."""

    def __init__(self, model: Any, source: str) -> None:
        super().__init__(source)
        self.model = model
        self.links.append(Link("world"))
        self.bodies = {0: "world"}
        self.rest: dict[str, float] = {}  # joint positions at qpos0, where loops are closed
        self.motors: dict[int, list[int]] = {}  # actuators per joint
        for motor, driven in enumerate(model.actuator_trnid):
            self.motors.setdefault(int(driven[0]), []).append(motor)

    def robot(self, tip: str | None) -> Robot:  # type: ignore[override]
        """The robot with the body or site ``tip`` as its tip; by default that of the robot, or its link's only site."""
        model = self.model
        for body in range(1, len(model.bodies)):
            self._add_body(body)
        driven = {model.joints[joint] for joint in self.motors}
        with errors_at(self.source):
            self.couplings += self._couplings()
            idle = [name for coupling in self.couplings for name in coupling.joints if name in driven]
            self.sentences += model.notes
            self.sentences += [f"actuators of coupled joints are ignored: {', '.join(idle)}"] if idle else []
            left_out = (*model.left_out, *(f"{what} {place}" for what, x in self.left_out.items() for place in x))
            robot = super().robot(model.name, gravity=_vector(model.gravity), left_out=left_out)
            sites = [self._site(k) for k in range(len(model.sites))]
            at_tip = [site for site in sites if robot.tip is not None and site.link == robot.tip.link]
            if tip is None and len(at_tip) == 1:
                robot = robot.replace(tip=at_tip[0])
            robot = self.with_tip(robot, tip, sites)
            loops = [self._loop(k) for k in range(len(model.loops))]
            undriven = {joint.name for joint in robot.joints} - driven
            return with_passive(robot, loops, undriven) if loops else robot

    def _couplings(self) -> Iterator[Coupling]:
        """Joint equalities: y − y₀ = Σ c_k (x − x₀)^k, where y₀ and x₀ are the joint positions at qpos0."""
        model, follows = self.model, set[str]()
        for data, first, second in zip(model.joint_eq_data, model.joint_eq_obj1id, model.joint_eq_obj2id, strict=True):
            y = model.joints[int(first)]
            coefficients = [float(c) for c in data[:5]]
            if int(second) < 0:
                follows.add(y)
                yield Coupling(y, offset=coefficients[0] + self.rest[y])
                continue
            x = model.joints[int(second)]
            c0, c1, *higher = shifted(coefficients, self.rest[x])
            c0 += self.rest[y]
            driven = [int(joint) in self.motors for joint in (first, second)]
            if c1 and not any(higher) and x not in follows and (y in follows or driven == [True, False]):
                x, y, c0, c1 = y, x, -c0 / c1, 1.0 / c1
            follows.add(y)
            yield Coupling(y, x, c1, c0, higher)

    def _loop(self, k: int) -> Loop:
        model = self.model
        ids = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
        data = [float(x) for x in model.eq_data[k]]
        weld = model.loop_kinds[k] == "weld"
        if model.loop_ends[k] == "site":
            frames = [self._site(i) for i in ids]
            ends = [(frame.link, frame.placement) for frame in frames]
        else:
            first, second = (Placement(translation=_vector(data[k : k + 3])) for k in (0, 3))
            if weld:  # the pose of the second body in the first, and a point on the second
                first, second = _placement(data[3:6], data[6:10]), first
            ends = list(zip((self.bodies[i] for i in ids), (first, second), strict=True))
        branch = tuple((joint, at) for joint, at in self.rest.items() if at != 0.0)
        (link_a, a), (link_b, b) = ends
        return Loop(model.loops[k], link_a, a, link_b, b, "weld" if weld else "connect", branch=branch)

    def _add_body(self, body: int) -> None:
        """Attach a body to its parent by a fixed joint, or by its joints in series."""
        model, name = self.model, self.model.bodies[body]
        parent, self.bodies[body] = self.bodies[int(model.body_parentid[body])], name
        placement = _placement(model.body_pos[body], model.body_quat[body])
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        for k, joint in enumerate(range(first, first + count)):
            label = model.joints[joint]
            last = k == count - 1
            child = name if last else f"{name}:{label}"
            if not last:
                self.links.append(Link(child, massless=True))
            with errors_at(f"{self.source}: joint '{label}'"):
                if model.joint_kinds[joint] in VIRTUAL_KINDS:
                    self._add_virtual(joint, label, parent, child, placement)
                else:
                    self.joints.append(self._joint(joint, label, parent, child, placement))
            parent, placement = child, Placement()
        self.links.append(Link(name, _inertia(model, body), weight=1.0 - float(model.body_gravcomp[body])))
        if count == 0:
            self.joints.append(Joint(f"{name}:fixed", "fixed", parent, name, placement))

    def _add_virtual(self, j: int, name: str, parent: str, child: str, placement: Placement) -> None:
        """Add a free joint, whose coordinates are the body's world pose as in MuJoCo, or a ball joint at its anchor."""
        model, kind = self.model, VIRTUAL_KINDS[self.model.joint_kinds[j]]
        if kind == "floating":
            roll, pitch, yaw = placement.to_rpy()
            rest, anchor, placement = (*placement.translation, yaw, pitch, roll), ZERO, Placement()
        else:
            rest, anchor = (0.0, 0.0, 0.0), _vector(model.jnt_pos[j])
        frame = Placement(translation=-anchor) if anchor != ZERO else Placement()
        at_anchor = placement @ Placement(translation=anchor)
        joints = self.add_virtual(Joint(name, "fixed", parent, child, at_anchor, link_frame=frame), kind)
        self.rest |= {joint.name: x for joint, x in zip(joints, rest, strict=True)}
        dofs = slice(int(model.jnt_dofadr[j]), int(model.jnt_dofadr[j]) + len(joints))
        forces = [getattr(model, f"dof_{key}")[dofs] for key in ("damping", "frictionloss", "armature")]
        if any(map(np.any, (*forces, model.jnt_stiffness[j]))):
            self.note(f"damping, friction, armature and springs of the {kind} joint", f"'{name}'", torques=True)
        if model.jnt_limited[j]:
            self.sentences.append(f"the range of the {kind} joint '{name}' is ignored")

    def _joint(self, j: int, name: str, parent: str, child: str, placement: Placement) -> Joint:
        """The joint, which moves the body by q − ref about an anchor given in the body frame."""
        model = self.model
        kind, dof = model.joint_kinds[j], int(model.jnt_dofadr[j])
        limited, slide = bool(model.jnt_limited[j]), kind == "slide"
        anchor = ZERO if slide else _vector(model.jnt_pos[j])
        armature, damping = float(model.dof_armature[dof]), float(model.dof_damping[dof])
        self.rest[name] = float(model.qpos0[model.jnt_qposadr[j]])
        for actuator in self.motors.get(j, []):  # recent MuJoCo versions: armature and damping of the actuator
            gear = float(model.actuator_gear[actuator][0])
            armature += gear * gear * float(getattr(model, "actuator_armature", {actuator: 0.0})[actuator])
            damping += gear * gear * float(getattr(model, "actuator_damping", {actuator: 0.0})[actuator])
        lower, upper = (float(x) for x in model.jnt_range[j]) if limited else (None, None)
        # like q, MuJoCo's springref is in radians and includes ref
        spring = float(model.jnt_stiffness[j]), float(model.qpos_spring[model.jnt_qposadr[j]])
        return Joint(
            name,
            "prismatic" if slide else "revolute" if limited else "continuous",
            parent,
            child,
            placement @ Placement(translation=anchor),
            _vector(model.jnt_axis[j]),
            -float(model.qpos0[model.jnt_qposadr[j]]) + 0.0,
            Placement(translation=-anchor) if anchor != ZERO else Placement(),
            Friction(damping, float(model.dof_frictionloss[dof]), spring=spring),
            Limits(lower, upper, effort=self._effort(j)),
            Rotor(inertia=armature, gear=1.0, reflected=True) if armature else None,
        )

    def _effort(self, j: int) -> float | None:
        """The largest force allowed by the joint's single actuator and by the joint itself."""
        model, bounds = self.model, []
        if model.jnt_actfrclimited[j]:
            bounds.append(max(abs(float(x)) for x in model.jnt_actfrcrange[j]))
        actuators = self.motors.get(j, [])
        if len(actuators) == 1 and model.actuator_forcelimited[actuators[0]]:
            gear = abs(float(model.actuator_gear[actuators[0]][0]))
            bounds.append(gear * max(abs(float(x)) for x in model.actuator_forcerange[actuators[0]]))
        return min(bounds) if bounds else None

    def _site(self, site: int) -> Frame:
        model = self.model
        link = self.bodies[int(model.site_bodyid[site])]
        placement = _placement(model.site_pos[site], model.site_quat[site])
        return Frame(model.sites[site], link, placement)
