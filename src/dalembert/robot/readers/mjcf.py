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
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from dalembert.base.algebra.vectors import ZERO, Mat, Vec
from dalembert.base.files import file_bounds
from dalembert.base.files.file_bounds import at_most
from dalembert.base.files.reader_process import ask
from dalembert.base.files.safe_toml import decoded
from dalembert.base.files.safe_xml import check_format, file_or_text, parse_xml, read_bytes
from dalembert.base.wording import errors_at, shown
from dalembert.errors import RobotError
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.joint_couplings import Coupling
from dalembert.robot.model.loop_joints import Loop, with_passive
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import Frame, Friction, Joint, Limits, Link, Robot, Rotor
from dalembert.robot.readers.robot_builder import RobotBuilder

TEXT = "MJCF text"
VIRTUAL_KINDS = {"free": "floating", "ball": "ball"}  # read as virtual joints
NUMBERS = {"size": ("nuser", "nkey"), "numeric": ("size",), "user": ("dim",)}  # prefixes of attributes that are counts
ROUNDING = 1e-15  # deviation from an exact 0 or ±1 after conversion from a quaternion
FOLDERS = ("meshdir", "texturedir", "assetdir")
FILES = ("file", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")
PARTS = ("include", "model")  # elements whose files are models, too
ELEMENTS = "elements (including those of included files and replicated ones)"
MOST = {
    ELEMENTS: file_bounds.MJCF_ELEMENTS,
    "bodies": file_bounds.MJCF_BODIES,
    "joints": file_bounds.MJCF_JOINTS,
    "points in height fields": file_bounds.MJCF_HEIGHTS,
}


def read_mjcf(path_or_text: str | os.PathLike[str], tip: str | None = None) -> Robot:
    """The robot described by an MJCF file, or by MJCF text (any string that begins with ``<``).

    ``tip`` names a body or a site; by default the tip is the last body, or its site if it has exactly one.
    """
    content, source = file_or_text(path_or_text, TEXT)
    root = parse_xml(content, source)
    check_format(root, "mujoco", source)
    files = MjcfFiles(source, root)
    _check_counts(files, source)
    text, folder = (content if isinstance(content, str) else None), None
    if isinstance(content, bytes):
        files.check_regular(source)
        if not source.endswith(".xml"):  # MuJoCo opens no other suffix: pass the content as text
            text = decoded(content, source, "save it in UTF-8, or rename it to .xml")
            folder = os.path.dirname(os.path.abspath(source))
    question = {"source": source, "text": text, "folder": folder}
    function = "dalembert.robot.readers.mujoco_compiler:compiled"
    plain, arrays = ask(function, question, where=source, reader="MuJoCo's compiler", error=RobotError)
    _check_numbers(arrays, source)
    numbers = {name: array.tolist() for name, array in arrays.items()}
    return _MjcfReader(SimpleNamespace(**plain, **numbers), source).robot(tip)


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


def _check_counts(files: MjcfFiles, source: str) -> None:
    """Refuse models that expand to excessive size, before MuJoCo builds them."""
    models = files.submodels()
    included: set[Path] = set()
    counts = dict.fromkeys(MOST, 0.0)
    waiting = [(files.roots[files.main], 1.0, False, files.main)]
    while waiting:
        element, copies, in_world, file = waiting.pop()
        tag, in_world = element.tag, in_world or element.tag == "worldbody"
        counts[ELEMENTS] += copies * (1.0 + (_product(element, "count") if tag in ("composite", "flexcomp") else 0.0))
        counts["bodies"] += copies if tag == "body" else 0.0
        counts["joints"] += copies if tag == "joint" and in_world else 0.0
        if tag == "replicate":
            copies *= _product(element, "count")
        if tag == "hfield":
            counts["points in height fields"] += _product(element, "nrow") * _product(element, "ncol")
        if tag == "include":
            part = files.named(element, file)
            if part is not None and part not in included:  # MuJoCo includes each file only once
                included.add(part)
                waiting.append((files.roots[part], copies, in_world, part))
        if tag == "attach":  # every copy of a sub-model counts
            waiting += [(files.roots[part], copies, in_world, part) for part in models[element.get("model", "")]]
        for key in [key for key in element.attrib if key.startswith(NUMBERS.get(tag, "\0"))]:
            at_most(file_bounds.MJCF_NUMBERS, _product(element, key), f"numbers in {key} of <{tag}>", source)
        for what, most in MOST.items():
            at_most(most, counts[what], what, source)
        waiting += [(child, copies, in_world, file) for child in element]


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


def _clean(R: Mat) -> Mat:
    """A rotation with exact entries 0 and ±1 in place of those rounded by the quaternion."""

    def exact(x: float) -> float:
        near = float(round(x))
        return near if abs(x - near) <= ROUNDING else x

    return Mat.of(map(exact, row) for row in R)


def _placement(position: Any, quaternion: Any) -> Placement:
    return Placement(_clean(Placement.quaternion(*quaternion).rotation), position)


def _inertia(model: Any, body: int) -> Inertia:
    """The inertia of a body; MuJoCo stores principal moments and the frame of the principal axes."""
    frame = _placement(model.body_ipos[body], model.body_iquat[body])
    a, b, c = model.body_inertia[body]
    R, principal = frame.rotation, Mat.of(((a, 0.0, 0.0), (0.0, b, 0.0), (0.0, 0.0, c)))
    tensor = R @ (principal @ R.T)
    noise = ROUNDING * max(a, b, c)
    exact = tuple(tuple(0.0 if abs(x) <= noise else x for x in row) for row in tensor)
    return Inertia(model.body_mass[body], frame.translation, exact)


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
            self.motors.setdefault(driven[0], []).append(motor)

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
            robot = super().robot(model.name, gravity=model.gravity, left_out=left_out)
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
            y, coefficients = model.joints[first], data[:5]
            if second < 0:
                follows.add(y)
                yield Coupling(y, offset=coefficients[0] + self.rest[y])
                continue
            x = model.joints[second]
            c0, c1, *higher = shifted(coefficients, self.rest[x])
            c0 += self.rest[y]
            driven = [joint in self.motors for joint in (first, second)]
            if c1 and not any(higher) and x not in follows and (y in follows or driven == [True, False]):
                x, y, c0, c1 = y, x, -c0 / c1, 1.0 / c1
            follows.add(y)
            yield Coupling(y, x, c1, c0, higher)

    def _loop(self, k: int) -> Loop:
        model = self.model
        ids, data = (model.eq_obj1id[k], model.eq_obj2id[k]), model.eq_data[k]
        weld = model.loop_kinds[k] == "weld"
        if model.loop_ends[k] == "site":
            frames = [self._site(i) for i in ids]
            ends = [(frame.link, frame.placement) for frame in frames]
        else:
            first, second = (Placement(translation=data[k : k + 3]) for k in (0, 3))
            if weld:  # the pose of the second body in the first, and a point on the second
                first, second = _placement(data[3:6], data[6:10]), first
            ends = list(zip((self.bodies[i] for i in ids), (first, second), strict=True))
        branch = tuple((joint, at) for joint, at in self.rest.items() if at != 0.0)
        (link_a, a), (link_b, b) = ends
        return Loop(model.loops[k], link_a, a, link_b, b, "weld" if weld else "connect", branch=branch)

    def _add_body(self, body: int) -> None:
        """Attach a body to its parent by a fixed joint, or by its joints in series."""
        model, name = self.model, self.model.bodies[body]
        parent, self.bodies[body] = self.bodies[model.body_parentid[body]], name
        placement = _placement(model.body_pos[body], model.body_quat[body])
        first, count = model.body_jntadr[body], model.body_jntnum[body]
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
        self.links.append(Link(name, _inertia(model, body), weight=1.0 - model.body_gravcomp[body]))
        if count == 0:
            self.joints.append(Joint(f"{name}:fixed", "fixed", parent, name, placement))

    def _add_virtual(self, j: int, name: str, parent: str, child: str, placement: Placement) -> None:
        """Add a free joint, whose coordinates are the body's world pose as in MuJoCo, or a ball joint at its anchor."""
        model, kind = self.model, VIRTUAL_KINDS[self.model.joint_kinds[j]]
        if kind == "floating":
            roll, pitch, yaw = placement.to_rpy()
            rest, anchor, placement = (*placement.translation, yaw, pitch, roll), ZERO, Placement()
        else:
            rest, anchor = (0.0, 0.0, 0.0), Vec(model.jnt_pos[j])
        frame = Placement(translation=-anchor) if anchor != ZERO else Placement()
        at_anchor = placement @ Placement(translation=anchor)
        joints = self.add_virtual(Joint(name, "fixed", parent, child, at_anchor, link_frame=frame), kind)
        self.rest |= {joint.name: x for joint, x in zip(joints, rest, strict=True)}
        dofs = slice(model.jnt_dofadr[j], model.jnt_dofadr[j] + len(joints))
        forces = (*model.dof_damping[dofs], *model.dof_frictionloss[dofs], *model.dof_armature[dofs])
        if any((*forces, model.jnt_stiffness[j])):
            self.note(f"damping, friction, armature and springs of the {kind} joint", f"'{name}'", torques=True)
        if model.jnt_limited[j]:
            self.sentences.append(f"the range of the {kind} joint '{name}' is ignored")

    def _joint(self, j: int, name: str, parent: str, child: str, placement: Placement) -> Joint:
        """The joint, which moves the body by q − ref about an anchor given in the body frame."""
        model = self.model
        dof, coordinate = model.jnt_dofadr[j], model.jnt_qposadr[j]
        limited, slide = model.jnt_limited[j], model.joint_kinds[j] == "slide"
        anchor = ZERO if slide else Vec(model.jnt_pos[j])
        armature, damping = model.dof_armature[dof], model.dof_damping[dof]
        self.rest[name] = model.qpos0[coordinate]
        for actuator in self.motors.get(j, []):  # recent MuJoCo versions: armature and damping of the actuator
            gear = model.actuator_gear[actuator][0]
            armature += gear * gear * getattr(model, "actuator_armature", {actuator: 0.0})[actuator]
            damping += gear * gear * getattr(model, "actuator_damping", {actuator: 0.0})[actuator]
        lower, upper = model.jnt_range[j] if limited else (None, None)
        # like q, MuJoCo's springref is in radians and includes ref
        spring = model.jnt_stiffness[j], model.qpos_spring[coordinate]
        return Joint(
            name,
            "prismatic" if slide else "revolute" if limited else "continuous",
            parent,
            child,
            placement @ Placement(translation=anchor),
            model.jnt_axis[j],
            -model.qpos0[coordinate] + 0.0,
            Placement(translation=-anchor) if anchor != ZERO else Placement(),
            Friction(damping, model.dof_frictionloss[dof], spring=spring),
            Limits(lower, upper, effort=self._effort(j)),
            Rotor(inertia=armature, gear=1.0, reflected=True) if armature else None,
        )

    def _effort(self, j: int) -> float | None:
        """The largest force allowed by the joint's single actuator and by the joint itself."""
        model, bounds = self.model, []
        if model.jnt_actfrclimited[j]:
            bounds.append(max(map(abs, model.jnt_actfrcrange[j])))
        actuators = self.motors.get(j, [])
        if len(actuators) == 1 and model.actuator_forcelimited[actuators[0]]:
            gear = abs(model.actuator_gear[actuators[0]][0])
            bounds.append(gear * max(map(abs, model.actuator_forcerange[actuators[0]])))
        return min(bounds) if bounds else None

    def _site(self, site: int) -> Frame:
        model = self.model
        link = self.bodies[model.site_bodyid[site]]
        placement = _placement(model.site_pos[site], model.site_quat[site])
        return Frame(model.sites[site], link, placement)


# -- files that a model names, which MuJoCo's compiler opens itself: parts, sub-models, meshes and textures ------------


class MjcfFiles:
    """A model and every file that it includes or attaches, at any depth; only ``readable`` places are opened.

    ``root`` is that of the model itself if it has been parsed; what a text names is looked up in the current folder.
    """

    def __init__(
        self, path: str, root: Element | None = None, readable: Callable[[Path], bool] = lambda place: True
    ) -> None:
        self.main = Path(os.path.realpath(path))
        self.roots = {self.main: parse_xml(read_bytes(path), path) if root is None else root}
        waiting = [self.main]
        while waiting:
            file = waiting.pop()
            for element in (x for x in self.roots[file].iter() if x.tag in PARTS and x.get("file")):
                for at in self._places(element.get("file", ""), file):
                    if at is not None and at not in self.roots and readable(at) and os.path.exists(at):
                        self.roots[at] = parse_xml(read_bytes(at), str(at))
                        waiting.append(at)

    def _places(self, name: str, file: Path) -> list[Path | None]:
        """Where MuJoCo looks for what a file names: beside the model, and beside that file."""
        return [_place(base, name) for base in (self.main.parent, file.parent)]

    def named(self, element: Element, file: Path) -> Path | None:
        """The part or sub-model that an element of a file names, or None if it does not exist, which MuJoCo reports."""
        return next((at for at in self._places(element.get("file", ""), file) if at in self.roots), None)

    def submodels(self) -> dict[str, list[Path]]:
        """The models that <attach> can name: by their names in <asset>, or else by their own."""
        models = defaultdict[str, list[Path]](list)
        for file, root in self.roots.items():
            for model in root.iter("model"):
                if (part := self.named(model, file)) is not None:
                    models[model.get("name") or self.roots[part].get("model") or ""].append(part)
        return models

    def places(self, source: str) -> Iterator[tuple[str, Path | None]]:
        """Every name of a file and each place at which MuJoCo may look for it; None for a name that no file can have."""
        bases, names = {self.main.parent}, dict[str, None]()
        for file, root in self.roots.items():
            for element in root.iter():
                bases |= {base / element.get(key, "") for key in FOLDERS for base in (self.main.parent, file.parent)}
                names |= {element.get(key, ""): None for key in FILES}
            at_most(file_bounds.MJCF_FOLDERS, len(bases), "folders of meshes and textures", source)
        for name in names:
            for base in bases:
                yield name, _place(base, name)

    def check_regular(self, source: str) -> None:
        """Refuse devices and pipes, which MuJoCo would wait for."""
        for name, at in self.places(source):
            if name and at is not None and at.exists() and not at.is_file() and not at.is_dir():
                raise RobotError(
                    f"{source}: the model refers to {shown(name)}, which is a pipe or a device and not a file"
                )


def _place(base: Path, name: str) -> Path | None:
    """The file of this name, with links resolved."""
    return None if "\0" in name else Path(os.path.realpath(base / name))
