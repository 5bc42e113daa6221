"""MJCF in, through MuJoCo's own compiler: its defaults, classes, includes and inertia rules as they are.

Shapes are dropped before compiling wherever they do not make inertia, so mesh files are needed only
for bodies that take their inertia from a mesh. MuJoCo's armature is a reflected rotor inertia; its
joint ``ref`` is an offset. Equality constraints ``connect`` and ``weld`` are loops: closed chains, whose
passive joints are, as far as can be, those without an actuator. What is not part of an arm's dynamics
here (springs, tendons, other equality constraints, contacts) is said in ``Robot.notes``.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from typing import Any

from dalembert.errors import RobotError
from dalembert.robot.inertia import Inertia
from dalembert.robot.linalg import ZERO, Matrix, Vector, matmul, neg, transpose
from dalembert.robot.loops import Loop, with_passive
from dalembert.robot.model import Frame, Friction, Joint, Limits, Link, Robot, Rotor
from dalembert.robot.placement import Placement
from dalembert.robot.safe_xml import parse_xml, read_bytes

ROUNDING = 1e-15  # what is left of an exact 0 or ±1 after a quaternion


def read_mjcf(path_or_text: str | os.PathLike[str], tip: str | None = None) -> Robot:
    """The robot of an MJCF file, or of MJCF text (anything that begins with ``<``).

    ``tip`` names a body or a site; without it the tip is the last body, or its only site.
    """
    is_text = isinstance(path_or_text, str) and path_or_text.lstrip().startswith("<")
    source = "MJCF text" if is_text else os.fspath(path_or_text)
    content: str | bytes = str(path_or_text) if is_text else read_bytes(path_or_text)
    _refuse_other_formats(content, source)
    try:
        import mujoco
    except ImportError:
        raise RobotError(f"{source}: reading MJCF needs MuJoCo; pip install 'dalembert[mujoco]'") from None
    try:
        spec = _spec(mujoco, content, source)
    except ValueError as error:
        raise RobotError(f"{source}: MuJoCo cannot read it: {_one_line(error)}") from None
    notes = list(_ignored(spec))
    mesh_files = _drop_what_makes_no_inertia(mujoco, spec, notes)
    model = _compile(spec, mesh_files, source)
    notes += _ignored_in(mujoco, model)
    return _Reader(mujoco, model, source).robot(spec.modelname or "robot", notes, tip)


def _spec(mujoco: Any, content: str | bytes, source: str) -> Any:
    """MuJoCo's parsed model. It opens only files called ``.xml``; the others are handed to it as text."""
    if isinstance(content, bytes) and source.endswith(".xml"):
        return mujoco.MjSpec.from_file(source)
    spec = mujoco.MjSpec.from_string(content.decode() if isinstance(content, bytes) else content)
    if isinstance(content, bytes):
        spec.modelfiledir = os.path.dirname(os.path.abspath(source))  # where its meshes are looked for
    return spec


def _refuse_other_formats(content: str | bytes, source: str) -> None:
    root = parse_xml(content, source)
    if root.tag == "robot":
        raise RobotError(f"{source}: this is URDF, not MJCF; read it with read_urdf")
    if root.tag != "mujoco":
        raise RobotError(f"{source}: the root element is <{root.tag}>; an MJCF file begins with <mujoco>")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _some(names: list[str]) -> str:
    """A few names of many."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


# --- before compiling: only what the dynamics need --------------------------------------------


def _ignored(spec: Any) -> Iterator[str]:
    """Notes on the parts of the file that are not read."""
    equalities = [one for one in spec.equalities if _loop_kind(one) is None]
    for what, elements in (("equality constraints", equalities), ("tendons", spec.tendons)):
        if elements:
            yield f"{what} are ignored: {_some([e.name or 'unnamed' for e in elements])}"
    if spec.pairs or any(geom.contype or geom.conaffinity for geom in spec.geoms):
        yield "contacts between geoms are ignored"


def _loop_kind(equality: Any) -> str | None:
    """ "connect" or "weld" of an equality constraint that joins two bodies and is active."""
    kind = str(equality.type).rsplit("_", 1)[-1].lower()
    return kind if kind in ("connect", "weld") and equality.active else None


def _drop_what_makes_no_inertia(mujoco: Any, spec: Any, notes: list[str]) -> dict[str, str]:
    """Delete shapes, their files, and all that refers to them; the mesh files left, and whose they are."""
    if getattr(spec, "flexes", None):
        raise RobotError(f"{spec.modelname}: the model has deformable bodies (flex), which is not supported")
    lists = ("sensors", "pairs", "excludes", "keys", "skins", "tuples")
    equalities = [one for one in spec.equalities if _loop_kind(one) is None]
    for element in [*equalities, *(e for name in lists for e in getattr(spec, name))]:
        _delete(spec, element)
    on_joints = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    others = [actuator for actuator in spec.actuators if actuator.trntype not in on_joints]
    if others:
        notes.append(
            f"actuators that drive no single joint are ignored: {_some([a.name or 'unnamed' for a in others])}"
        )
    for element in [*others, *spec.tendons]:
        _delete(spec, element)
    needs: dict[str, str] = {}  # mesh: the body whose inertia it makes
    for body, moves in list(_bodies(spec.worldbody)):
        for geom in list(body.geoms):
            mesh, keep = geom.meshname, _makes_inertia(mujoco, spec, body, geom)
            if keep and mesh and not moves and not os.path.exists(_mesh_file(spec, mesh)):
                notes.append(f"the mass of body '{body.name}', which never moves, is left out: mesh '{mesh}' is absent")
                keep = False
            if not keep:
                _delete(spec, geom)
                continue
            geom.material = ""
            if mesh:
                needs[mesh] = body.name
    for site in spec.sites:
        site.material = ""
    for mesh in list(spec.meshes):
        mesh.material = ""
        if mesh.name not in needs:
            _delete(spec, mesh)
    for element in [*spec.materials, *spec.textures]:
        _delete(spec, element)
    return {spec.mesh(mesh).file: body for mesh, body in needs.items() if spec.mesh(mesh).file}


def _delete(spec: Any, element: Any) -> None:
    if hasattr(spec, "delete"):
        spec.delete(element)
    else:  # MuJoCo before 3.3
        element.delete()


def _bodies(world: Any) -> Iterator[tuple[Any, bool]]:
    """Every body, and whether a joint moves it."""
    waiting = [(world, False)]
    while waiting:
        body, moves = waiting.pop()
        moves = moves or bool(list(body.joints))
        yield body, moves
        waiting += [(child, moves) for child in body.bodies]


def _makes_inertia(mujoco: Any, spec: Any, body: Any, geom: Any) -> bool:
    """Whether the compiler will take part of the body's inertia from this shape."""
    rule, kinds = spec.compiler.inertiafromgeom, mujoco.mjtInertiaFromGeom
    explicit = body.explicitinertial and rule != kinds.mjINERTIAFROMGEOM_TRUE
    first, last = spec.compiler.inertiagrouprange
    weightless = geom.mass == 0 or geom.density == 0 or not first <= geom.group <= last
    return not (explicit or body.name == "world" or rule == kinds.mjINERTIAFROMGEOM_FALSE or weightless)


def _mesh_file(spec: Any, name: str) -> str:
    mesh = spec.mesh(name)
    if mesh is None or not mesh.file:  # its points are in the model itself
        return os.curdir
    directory = getattr(spec.compiler, "meshdir", "") or getattr(spec, "meshdir", "")
    file = os.path.basename(mesh.file) if getattr(spec, "strippath", False) else mesh.file
    return os.path.join(spec.modelfiledir or "", directory, file)


def _compile(spec: Any, mesh_files: dict[str, str], source: str) -> Any:
    try:
        return spec.compile()
    except ValueError as error:
        text = _one_line(error)
    for file, body in mesh_files.items():
        if file in text:
            raise RobotError(
                f"{source}: body '{body}' has no <inertial> and its mesh '{file}' cannot be read; "
                "give the body an <inertial>, or put the mesh file there"
            )
    raise RobotError(f"{source}: MuJoCo's compiler refuses it: {text}")


# --- after compiling: the model as MuJoCo has it ------------------------------------------------


def _ignored_in(mujoco: Any, model: Any) -> Iterator[str]:
    """Notes on forces that the compiled model has and this library has not."""
    springs = [_name(mujoco, model, "JOINT", j) for j in range(model.njnt) if model.jnt_stiffness[j] != 0]
    if springs:
        yield f"joint springs are ignored: {_some(springs)}"
    for field, what in (("jnt_stiffnesspoly", "nonlinear springs"), ("dof_dampingpoly", "nonlinear damping")):
        if hasattr(model, field) and getattr(model, field).any():  # newer MuJoCo
            yield f"{what} of joints is ignored"
    if model.body_gravcomp.any():
        yield "gravity compensation (gravcomp) is ignored"
    if model.opt.density != 0 or model.opt.viscosity != 0:
        yield "the fluid (density, viscosity) is ignored"
    flags = {"FRICTIONLOSS": "frictionloss", "DAMPER": "damper", "PASSIVE": "passive"}
    for key, what in flags.items():
        bit = getattr(mujoco.mjtDisableBit, f"mjDSBL_{key}", None)
        if bit is not None and model.opt.disableflags & int(bit):
            yield f'the flag {what}="disable" is ignored: the joints keep their friction'


def _name(mujoco: Any, model: Any, kind: str, index: int) -> str:
    """The element's name, or its kind and number."""
    return mujoco.mj_id2name(model, getattr(mujoco.mjtObj, f"mjOBJ_{kind}"), index) or f"{kind.lower()}_{index}"


def _vector(values: Any) -> Vector:
    x, y, z = (float(v) for v in values)
    return (x, y, z)


def _clean(R: Matrix) -> Matrix:
    """A rotation without the rounding of its quaternion where an entry is 0 or ±1."""

    def exact(x: float) -> float:
        near = float(round(x))
        return near if abs(x - near) <= ROUNDING else x

    return tuple(tuple(exact(x) for x in row) for row in R)  # type: ignore[return-value]


def _placement(position: Any, quaternion: Any) -> Placement:
    w, x, y, z = (float(v) for v in quaternion)
    turned = Placement.quaternion(w, x, y, z)
    return Placement(_clean(turned.rotation), _vector(position))


def _inertia(model: Any, body: int) -> Inertia:
    """MuJoCo keeps principal moments and the principal axes' frame."""
    frame = _placement(model.body_ipos[body], model.body_iquat[body])
    a, b, c = _vector(model.body_inertia[body])
    tensor = matmul(frame.rotation, matmul(((a, 0.0, 0.0), (0.0, b, 0.0), (0.0, 0.0, c)), transpose(frame.rotation)))
    noise = ROUNDING * max(a, b, c)
    exact = tuple(tuple(0.0 if abs(x) <= noise else x for x in row) for row in tensor)
    return Inertia(float(model.body_mass[body]), frame.translation, exact)  # type: ignore[arg-type]


class _Reader:
    """Turns a compiled MjModel into a Robot."""

    def __init__(self, mujoco: Any, model: Any, source: str) -> None:
        self.mujoco, self.model, self.source = mujoco, model, source
        self.links = [Link("world")]
        self.joints: list[Joint] = []
        self.bodies = {0: "world"}
        self.rest: dict[str, float] = {}  # where the joints are at qpos0, at which loops are closed
        self.driven: set[str] = set()

    def robot(self, name: str, notes: list[str], tip: str | None) -> Robot:
        for body in range(1, self.model.nbody):
            self._add_body(body)
        off = self.model.opt.disableflags & int(self.mujoco.mjtDisableBit.mjDSBL_GRAVITY)
        gravity = ZERO if off else _vector(self.model.opt.gravity)
        try:
            robot = Robot(name, tuple(self.links), tuple(self.joints), gravity, source=self.source, notes=tuple(notes))
        except RobotError as error:
            raise RobotError(f"{self.source}: {error}") from None
        return self._closed(robot.replace(tip=self._tip(robot, tip)))

    def _closed(self, robot: Robot) -> Robot:
        """The robot with the loops that connect and weld constraints make."""
        loops = [self._loop(k) for k in range(self.model.neq)]
        undriven = [joint.name for joint in robot.joints if joint.name not in self.driven]
        try:
            return with_passive(robot, loops, undriven) if loops else robot
        except RobotError as error:
            raise RobotError(f"{self.source}: {error}") from None

    def _loop(self, k: int) -> Loop:
        model, mujoco = self.model, self.mujoco
        ids = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
        data = [float(x) for x in model.eq_data[k]]
        weld = int(model.eq_type[k]) == int(mujoco.mjtEq.mjEQ_WELD)
        if int(model.eq_objtype[k]) == int(mujoco.mjtObj.mjOBJ_SITE):
            frames = [self._site(i) for i in ids]
            ends = [(frame.link, frame.placement) for frame in frames]
        elif weld:  # the second body's pose in the first, and a point on the second
            ends = [
                (self.bodies[ids[0]], _placement(data[3:6], data[6:10])),
                (self.bodies[ids[1]], Placement(translation=_vector(data[0:3]))),
            ]
        else:
            ends = [
                (self.bodies[i], Placement(translation=_vector(data[3 * j : 3 * j + 3]))) for j, i in enumerate(ids)
            ]
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_EQUALITY, k) or f"loop_{k + 1}"
        branch = tuple((joint, at) for joint, at in self.rest.items() if at != 0.0)
        (link_a, a), (link_b, b) = ends
        return Loop(name, link_a, a, link_b, b, "weld" if weld else "connect", branch=branch)

    def _add_body(self, body: int) -> None:
        """A body hangs on its parent by a fixed joint, or by one joint after another."""
        model, name = self.model, _name(self.mujoco, self.model, "BODY", body)
        parent, self.bodies[body] = self.bodies[int(model.body_parentid[body])], name
        placement = _placement(model.body_pos[body], model.body_quat[body])
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        for k, joint in enumerate(range(first, first + count)):
            label = _name(self.mujoco, model, "JOINT", joint)
            last = k == count - 1
            child = name if last else f"{name}:{label}"
            if not last:
                self.links.append(Link(child))
            self.joints.append(self._joint(joint, label, parent, child, placement))
            parent, placement = child, Placement()
        self.links.append(Link(name, _inertia(model, body)))
        if count == 0:
            self.joints.append(Joint(f"{name}:fixed", "fixed", parent, name, placement))

    def _joint(self, j: int, name: str, parent: str, child: str, placement: Placement) -> Joint:
        """q moves the body by q − ref about an anchor in the body's own frame."""
        model, kinds = self.model, self.mujoco.mjtJoint
        kind, dof = int(model.jnt_type[j]), int(model.jnt_dofadr[j])
        if kind not in (int(kinds.mjJNT_HINGE), int(kinds.mjJNT_SLIDE)):
            what = "free" if kind == int(kinds.mjJNT_FREE) else "ball"
            raise RobotError(
                f"{self.source}: joint '{name}' of body '{child}' is a {what} joint, which is not supported; "
                "supported are hinge and slide"
            )
        limited, slide = bool(model.jnt_limited[j]), kind == int(kinds.mjJNT_SLIDE)
        anchor = ZERO if slide else _vector(model.jnt_pos[j])
        armature, damping = float(model.dof_armature[dof]), float(model.dof_damping[dof])
        self.rest[name] = float(model.qpos0[model.jnt_qposadr[j]])
        if self._drives(j):
            self.driven.add(name)
        for actuator in self._drives(j):  # newer MuJoCo lets the motor have its own, through the gear
            gear = float(model.actuator_gear[actuator][0])
            armature += gear * gear * float(getattr(model, "actuator_armature", {actuator: 0.0})[actuator])
            damping += gear * gear * float(getattr(model, "actuator_damping", {actuator: 0.0})[actuator])
        lower, upper = (float(x) for x in model.jnt_range[j]) if limited else (None, None)
        return Joint(
            name,
            "prismatic" if slide else "revolute" if limited else "continuous",
            parent,
            child,
            placement @ Placement(translation=anchor),
            _vector(model.jnt_axis[j]),
            -float(model.qpos0[model.jnt_qposadr[j]]) + 0.0,
            Placement(translation=neg(anchor)) if anchor != ZERO else Placement(),
            Friction(damping, (float(model.dof_frictionloss[dof]),) * 2),
            Limits(lower, upper, effort=self._effort(j)),
            Rotor(inertia=armature, gear=1.0, reflected=True) if armature else None,
        )

    def _drives(self, j: int) -> list[int]:
        """The actuators on a joint."""
        model = self.model
        count = int(getattr(model, "nactuator", model.nu))
        return [a for a in range(count) if int(model.actuator_trnid[a][0]) == j]

    def _effort(self, j: int) -> float | None:
        """The largest force that the joint's one actuator, and the joint itself, let through."""
        model, bounds = self.model, []
        if model.jnt_actfrclimited[j]:
            bounds.append(max(abs(float(x)) for x in model.jnt_actfrcrange[j]))
        actuators = self._drives(j)
        if len(actuators) == 1 and model.actuator_forcelimited[actuators[0]]:
            gear = abs(float(model.actuator_gear[actuators[0]][0]))
            bounds.append(gear * max(abs(float(x)) for x in model.actuator_forcerange[actuators[0]]))
        return min(bounds) if bounds else None

    def _site(self, site: int) -> Frame:
        model = self.model
        link = self.bodies[int(model.site_bodyid[site])]
        placement = _placement(model.site_pos[site], model.site_quat[site])
        return Frame(_name(self.mujoco, model, "SITE", site), link, placement)

    def _tip(self, robot: Robot, tip: str | None) -> Frame | None:
        """The body or site called ``tip``; else the default link, at its site if it has just one."""
        sites = [self._site(k) for k in range(self.model.nsite)]
        links = [link.name for link in robot.links]
        if tip is None:
            assert robot.tip is not None
            here = [site for site in sites if site.link == robot.tip.link]
            return here[0] if len(here) == 1 else robot.tip
        if tip in links:
            return Frame(tip, tip)
        named = {site.name: site for site in sites}
        if tip not in named:
            near = difflib.get_close_matches(tip, [*named, *links], 3) or [*named, *links][:3]
            raise RobotError(
                f"{self.source}: no body or site is called '{tip}', so it cannot be the tip; nearest are {', '.join(near)}"
            )
        return named[tip]
