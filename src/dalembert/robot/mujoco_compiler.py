"""MuJoCo's compiler, in the helper process: an MJCF file in, the numbers of the compiled model out.

Shapes are dropped before compiling wherever they do not make inertia, so mesh files are needed only for bodies that
take their inertia from a mesh, and height fields and textures are never made.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import RobotError
from dalembert.extras import extra
from dalembert.robot.bounds import MJCF_BODIES, MJCF_DELETIONS, MJCF_JOINTS, at_most
from dalembert.robot.tables import some

LOOPS = ("connect", "weld")  # equality constraints that close chains
# fields of the compiled model that an arm is made from
FIELDS = (
    *("body_parentid", "body_pos", "body_quat", "body_ipos", "body_iquat", "body_inertia", "body_mass"),
    *("body_jntadr", "body_jntnum", "jnt_dofadr", "jnt_qposadr", "jnt_limited", "jnt_range", "jnt_pos", "jnt_axis"),
    *("jnt_actfrclimited", "jnt_actfrcrange", "dof_armature", "dof_damping", "dof_frictionloss", "qpos0"),
    *("site_bodyid", "site_pos", "site_quat"),
)
EQUALITY_FIELDS = ("eq_obj1id", "eq_obj2id", "eq_data")
MOTOR_FIELDS = (
    *("actuator_trnid", "actuator_gear", "actuator_forcelimited", "actuator_forcerange"),
    *("actuator_armature", "actuator_damping"),  # newer MuJoCo
)


def compiled(source: str, text: str | None, folder: str | None) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The model's name, the names of its parts, notes and numbers; of the file ``source``, or of ``text`` where given.

    ``folder`` is where the meshes of a text are looked for.
    """
    with extra("mujoco", f"{source}: reading MJCF"):
        import mujoco
    try:
        spec = _spec(mujoco, source, text, folder)
    except ValueError as error:
        raise RobotError(f"{source}: MuJoCo cannot read it: {_one_line(error)}") from None
    at_most(MJCF_BODIES, len(spec.bodies), "bodies", source)  # attached models count as well
    at_most(MJCF_JOINTS, len(spec.joints), "joints", source)
    notes = list(_ignored(spec))
    mesh_files = _drop_what_makes_no_inertia(mujoco, spec, notes, source)
    model = _compile(spec, mesh_files, source)
    notes += _ignored_in(mujoco, model)
    active = [(k, kind) for k, kind in enumerate(_words(mujoco.mjtEq, model.eq_type)) if model.eq_active0[k]]
    loops = [k for k, kind in active if kind in LOOPS]
    couplings = [k for k, kind in active if kind == "joint"]
    on_joints = [int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT)]
    motors = np.flatnonzero(np.isin(model.actuator_trntype, on_joints))
    loop_names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_EQUALITY, k) for k in loops]
    plain = {
        "name": spec.modelname or "robot",
        "notes": notes,
        "bodies": _names(mujoco, model, "BODY", model.nbody),
        "joints": _names(mujoco, model, "JOINT", model.njnt),
        "sites": _names(mujoco, model, "SITE", model.nsite),
        "loops": [name or f"loop_{k + 1}" for k, name in enumerate(loop_names)],
        "joint_kinds": _words(mujoco.mjtJoint, model.jnt_type),
        "loop_kinds": _words(mujoco.mjtEq, model.eq_type[loops]),
        "loop_ends": _words(mujoco.mjtObj, model.eq_objtype[loops]),
        "gravity": _gravity(mujoco, model),
    }
    arrays = {name: np.asarray(getattr(model, name)) for name in FIELDS}
    arrays |= {name: np.asarray(getattr(model, name))[loops] for name in EQUALITY_FIELDS}
    arrays |= {f"joint_{name}": np.asarray(getattr(model, name))[couplings] for name in EQUALITY_FIELDS}
    arrays |= {name: np.asarray(getattr(model, name))[motors] for name in MOTOR_FIELDS if hasattr(model, name)}
    return plain, arrays


def _spec(mujoco: Any, source: str, text: str | None, folder: str | None) -> Any:
    """MuJoCo's parsed model."""
    if text is None:
        return mujoco.MjSpec.from_file(source)
    spec = mujoco.MjSpec.from_string(text)
    if folder is not None:
        spec.modelfiledir = folder
    return spec


def _one_line(error: Exception) -> str:
    """What an error says, as part of a sentence."""
    return " ".join(str(error).split())


# --- before compiling: only what the dynamics need --------------------------------------------


def _ignored(spec: Any) -> Iterator[str]:
    """Notes on the parts of the file that are not read."""
    equalities = [equality for equality in spec.equalities if not _is_read(equality)]
    for what, elements in (("equality constraints", equalities), ("tendons", spec.tendons)):
        if elements:
            yield f"{what} are ignored: {some([e.name or 'unnamed' for e in elements], 5)}"
    if spec.pairs or any(geom.contype or geom.conaffinity for geom in spec.geoms):
        yield "contacts between geoms are ignored"


def _is_read(equality: Any) -> bool:
    """Whether an equality constraint joins two bodies or couples joints, and is active."""
    return str(equality.type).rsplit("_", 1)[-1].lower() in (*LOOPS, "joint") and bool(equality.active)


def _drop_what_makes_no_inertia(mujoco: Any, spec: Any, notes: list[str], source: str) -> dict[str, str]:
    """Free the model from files that the dynamics do not need; the mesh files left, and whose they are.

    Shapes that make no inertia stay, in a group that the compiler takes none from, but their meshes go.
    """
    if getattr(spec, "flexes", None):
        raise RobotError(f"{source}: the model has deformable bodies (flex), which is not supported")
    on_joints = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    others = [actuator.name or "unnamed" for actuator in spec.actuators if actuator.trntype not in on_joints]
    if others:
        notes.append(f"actuators that drive no single joint are ignored: {some(others, 5)}")
    needs: dict[str, str] = {}  # mesh: the body whose inertia it makes
    no_group = max(spec.compiler.inertiagrouprange) + 1
    for body, moves in list(_bodies(spec.worldbody)):
        for geom in body.geoms:
            mesh, keep = geom.meshname, _makes_inertia(mujoco, spec, body, geom)
            if keep and mesh and not moves and not os.path.exists(_mesh_file(spec, mesh)):
                notes.append(f"the mass of body '{body.name}', which never moves, is left out: mesh '{mesh}' is absent")
                keep = False
            geom.material = ""
            if keep and mesh:
                needs[mesh] = body.name
            if not keep:
                geom.group = no_group
            if not keep and (mesh or geom.hfieldname):
                geom.type, geom.size, geom.mass = mujoco.mjtGeom.mjGEOM_SPHERE, [1.0, 0.0, 0.0], 0.0
                geom.meshname = geom.hfieldname = ""
    for site in spec.sites:
        site.material = ""
    for mesh in spec.meshes:
        mesh.material = ""
    unused = [mesh for mesh in spec.meshes if mesh.name not in needs]
    _delete(spec, [*spec.keys, *spec.skins, *unused, *spec.materials, *spec.textures, *spec.hfields], source)
    return {spec.mesh(mesh).file: body for mesh, body in needs.items() if spec.mesh(mesh).file}


def _delete(spec: Any, elements: list[Any], source: str) -> None:
    """Delete assets and keyframes; MuJoCo goes through the whole model for each."""
    size = len(elements) + sum(len(getattr(spec, kind)) for kind in ("bodies", "geoms", "joints", "sites", "sensors"))
    if len(elements) * size > MJCF_DELETIONS:
        raise RobotError(
            f"{source}: the model has {len(elements)} meshes, materials, textures, height fields, skins and keyframes that "
            f"no inertia needs beside {size} other elements; at most {MJCF_DELETIONS // size} are read: delete some"
        )
    for element in elements:
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
    mass = geom.mass if not math.isnan(geom.mass) else geom.density  # a mass that is given needs no density
    weightless = mass == 0 or not first <= geom.group <= last
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
    joints = _names(mujoco, model, "JOINT", model.njnt)
    springs = [name for j, name in enumerate(joints) if model.jnt_stiffness[j] != 0]
    if springs:
        yield f"joint springs are ignored: {some(springs, 5)}"
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


def _names(mujoco: Any, model: Any, kind: str, count: int) -> list[str]:
    """The elements' names; a nameless one is called by its kind and number."""
    kind_id = getattr(mujoco.mjtObj, f"mjOBJ_{kind}")
    return [mujoco.mj_id2name(model, kind_id, k) or f"{kind.lower()}_{k}" for k in range(count)]


def _words(enumeration: Any, values: Any) -> list[str]:
    """mjJNT_HINGE is "hinge"."""
    return [str(enumeration(int(value))).rsplit("_", 1)[-1].lower() for value in values]


def _gravity(mujoco: Any, model: Any) -> list[float]:
    off = model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    return [0.0, 0.0, 0.0] if off else [float(x) for x in model.opt.gravity]
