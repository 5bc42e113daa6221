"""MuJoCo's compiler in the helper process: takes an MJCF file and returns the numbers of the compiled model.

Shapes that do not contribute to inertia are dropped before compiling, so mesh files are needed only for bodies that
take their inertia from a mesh, and height fields and textures are never built.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.base.environment.extras import extra
from dalembert.base.files.file_bounds import MJCF_BODIES, MJCF_DELETIONS, MJCF_JOINTS, at_most
from dalembert.base.wording import some
from dalembert.errors import RobotError

LOOPS = ("connect", "weld")  # equality constraints that close chains
# fields of the compiled model from which an arm is built
FIELDS = (
    *("body_parentid", "body_pos", "body_quat", "body_ipos", "body_iquat", "body_inertia", "body_mass"),
    *("body_gravcomp", "jnt_stiffness", "qpos_spring"),
    *("body_jntadr", "body_jntnum", "jnt_dofadr", "jnt_qposadr", "jnt_limited", "jnt_range", "jnt_pos", "jnt_axis"),
    *("jnt_actfrclimited", "jnt_actfrcrange", "dof_armature", "dof_damping", "dof_frictionloss", "qpos0"),
    *("site_bodyid", "site_pos", "site_quat"),
)
# arrays that a flag of <option> disables
SWITCHES = {
    ("SPRING", "PASSIVE"): ("jnt_stiffness", "jnt_stiffnesspoly", "tendon_stiffness", "tendon_stiffnesspoly"),
    ("DAMPER", "PASSIVE"): (
        *("dof_damping", "dof_dampingpoly", "tendon_damping", "tendon_dampingpoly"),
        *("actuator_damping", "actuator_dampingpoly"),
    ),
    ("FRICTIONLOSS", "CONSTRAINT"): ("dof_frictionloss", "tendon_frictionloss"),
    ("LIMIT", "CONSTRAINT"): ("tendon_limited",),
    ("EQUALITY", "CONSTRAINT"): ("eq_active0",),
    ("GRAVITY",): ("body_gravcomp",),
}
TENDON_FORCES = (
    *("tendon_stiffness", "tendon_stiffnesspoly", "tendon_damping", "tendon_dampingpoly"),
    *("tendon_frictionloss", "tendon_armature", "tendon_limited"),
)
EQUALITY_FIELDS = ("eq_obj1id", "eq_obj2id", "eq_data")
MOTOR_FIELDS = (
    *("actuator_trnid", "actuator_gear", "actuator_forcelimited", "actuator_forcerange"),
    *("actuator_armature", "actuator_damping"),  # recent MuJoCo versions
)


def compiled(source: str, text: str | None, folder: str | None) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The model's name, the names of its parts, notes and numbers, from the file ``source`` or from ``text`` if given.

    ``folder`` is searched for the meshes of a text.
    """
    with extra("mujoco", f"{source}: reading MJCF"):
        import mujoco
    try:
        spec = mujoco.MjSpec.from_file(source) if text is None else mujoco.MjSpec.from_string(text)
    except ValueError as error:
        raise RobotError(f"{source}: MuJoCo cannot read it: {_one_line(error)}") from None
    if folder is not None:
        spec.modelfiledir = folder
    at_most(MJCF_BODIES, len(spec.bodies), "bodies", source)  # including attached models
    at_most(MJCF_JOINTS, len(spec.joints), "joints", source)
    notes: list[str] = []
    mesh_files = _drop_what_makes_no_inertia(mujoco, spec, notes, source)
    model = _compile(spec, mesh_files, source)
    _switch_off(mujoco, model)
    notes += _ignored(mujoco, model)
    left_out = list(_left_out(mujoco, model))
    active = [(k, kind) for k, kind in enumerate(_words(mujoco.mjtEq, model.eq_type)) if model.eq_active0[k]]
    loops = [k for k, kind in active if kind in LOOPS]
    couplings = [k for k, kind in active if kind == "joint"]
    motors = np.flatnonzero(_drives_a_joint(mujoco, model))
    loop_names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_EQUALITY, k) for k in loops]
    plain = {
        "name": spec.modelname or "robot",
        "notes": notes,
        "left_out": left_out,
        "bodies": _names(mujoco, model, "BODY", model.nbody),
        "joints": _names(mujoco, model, "JOINT", model.njnt),
        "sites": _names(mujoco, model, "SITE", model.nsite),
        "loops": [name or f"loop_{k + 1}" for k, name in enumerate(loop_names)],
        "joint_kinds": _words(mujoco.mjtJoint, model.jnt_type),
        "loop_kinds": _words(mujoco.mjtEq, model.eq_type[loops]),
        "loop_ends": _words(mujoco.mjtObj, model.eq_objtype[loops]),
        "gravity": [0.0] * 3 if _disabled(mujoco, model, "GRAVITY") else model.opt.gravity.tolist(),
    }
    arrays = {name: np.asarray(getattr(model, name)) for name in FIELDS}
    arrays |= {name: np.asarray(getattr(model, name))[loops] for name in EQUALITY_FIELDS}
    arrays |= {f"joint_{name}": np.asarray(getattr(model, name))[couplings] for name in EQUALITY_FIELDS}
    arrays |= {name: np.asarray(getattr(model, name))[motors] for name in MOTOR_FIELDS if hasattr(model, name)}
    return plain, arrays


def _one_line(error: Exception) -> str:
    """The message of an error, on one line."""
    return " ".join(str(error).split())


# --- before compiling: keep only what the dynamics need ----------------------------------------


def _drop_what_makes_no_inertia(mujoco: Any, spec: Any, notes: list[str], source: str) -> dict[str, str]:
    """Remove files that the dynamics do not need; returns {remaining mesh file: body that uses it}.

    Shapes without inertia stay, in a group that the compiler ignores for inertia, but their meshes are removed.
    """
    if getattr(spec, "flexes", None):
        raise RobotError(f"{source}: the model has deformable bodies (flex), which are not supported")
    needs: dict[str, str] = {}  # {mesh: body whose inertia it determines}
    no_group = max(spec.compiler.inertiagrouprange) + 1
    for body, moves in list(_bodies(spec.worldbody)):
        for geom in body.geoms:
            mesh, keep = geom.meshname, _makes_inertia(mujoco, spec, body, geom)
            if keep and mesh and not moves and not os.path.exists(_mesh_file(spec, mesh)):
                notes.append(f"the mass of body '{body.name}', which never moves, is omitted: mesh '{mesh}' is missing")
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
    """Delete assets and keyframes; MuJoCo walks through the whole model for each of them."""
    size = len(elements) + sum(len(getattr(spec, kind)) for kind in ("bodies", "geoms", "joints", "sites", "sensors"))
    if len(elements) * size > MJCF_DELETIONS:
        raise RobotError(
            f"{source}: the model has {len(elements)} meshes, materials, textures, height fields, skins and keyframes that "
            f"no inertia depends on, next to {size} other elements; at most {MJCF_DELETIONS // size} can be read: delete some"
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
    mass = geom.mass if not math.isnan(geom.mass) else geom.density  # an explicit mass overrides the density
    weightless = mass == 0 or not first <= geom.group <= last
    return not (explicit or body.name == "world" or rule == kinds.mjINERTIAFROMGEOM_FALSE or weightless)


def _mesh_file(spec: Any, name: str) -> str:
    mesh = spec.mesh(name)
    if mesh is None or not mesh.file:  # its vertices are in the model itself
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
                "give the body an <inertial>, or provide the mesh file"
            )
    raise RobotError(f"{source}: MuJoCo's compiler rejects it: {text}")


# --- after compiling: evaluate the model like MuJoCo ---------------------------------------------


def _switch_off(mujoco: Any, model: Any) -> None:
    """Set to zero whatever the flags of <option> disable."""
    for flags, fields in SWITCHES.items():
        if _disabled(mujoco, model, *flags):
            for field in fields:
                if hasattr(model, field):
                    getattr(model, field)[:] = 0
    no_forces = all(_disabled(mujoco, model, flag) for flag in ("SPRING", "DAMPER"))
    # MuJoCo counts only bodies with positive gravcomp, not negative
    if _disabled(mujoco, model, "PASSIVE") or no_forces or not model.ngravcomp:
        model.body_gravcomp[:] = 0


def _disabled(mujoco: Any, model: Any, *flags: str) -> bool:
    """Whether one of these flags is "disable"; flags unknown to this MuJoCo version are not."""
    bits = [getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}", 0) for flag in flags]
    return any(model.opt.disableflags & int(bit) for bit in bits)


def _held_by_motors(model: Any, joints: list[str]) -> Iterator[str]:
    """Keep the weight of bodies whose joints all have actuator gravity compensation; name the joints of mixed cases."""
    mixed: dict[str, None] = {}
    for body in np.flatnonzero(model.body_gravcomp):
        under = list(_joints_under(model, int(body)))
        motors = [joint for joint in under if model.jnt_actgravcomp[joint]]
        if len(motors) == len(under):
            model.body_gravcomp[body] = 0
        else:
            mixed |= dict.fromkeys(joints[joint] for joint in motors)
    if mixed:
        yield f"actuatorgravcomp, combined with joints that do not have it: {some(list(mixed), 5)}"


def _joints_under(model: Any, body: int) -> Iterator[int]:
    """The joints between the world and a body."""
    while body > 0:
        first = int(model.body_jntadr[body])
        yield from range(first, first + int(model.body_jntnum[body]))
        body = int(model.body_parentid[body])


def _left_out(mujoco: Any, model: Any) -> Iterator[str]:
    """Features that affect torques but are not modelled here."""
    joints = _names(mujoco, model, "JOINT", model.njnt)
    yield from _held_by_motors(model, joints)
    on_joints = _drives_a_joint(mujoco, model)
    actuators = _names(mujoco, model, "ACTUATOR", len(model.actuator_biastype))
    rough = model.actuator_biastype == int(getattr(mujoco.mjtBias, "mjBIAS_DCMOTOR", -1))
    kinds = np.array(_words(mujoco.mjtEq, model.eq_type))
    equalities = _names(mujoco, model, "EQUALITY", model.neq)
    for fields, names, among, what in (
        (("jnt_stiffnesspoly",), joints, None, "nonlinear joint springs"),
        (("dof_dampingpoly",), joints, None, "nonlinear joint damping"),
        (("jnt_springyield",), joints, None, "yielding joint springs"),
        (TENDON_FORCES, _tendons(mujoco, model), None, "springs, damping, friction, inertia and limits of tendons"),
        (("actuator_dampingpoly",), actuators, None, "nonlinear damping of actuators"),
        (("actuator_biasprm",), actuators, rough, "cogging and friction of dcmotor actuators"),
        (
            *(("actuator_armature", "actuator_damping"), actuators, ~on_joints),
            "armature and damping of actuators that do not drive a single joint",
        ),
        (
            *(("eq_active0",), equalities, ~np.isin(kinds, (*LOOPS, "joint"))),
            "equality constraints of tendons and flexible bodies",
        ),
    ):
        having = [x for k, x in enumerate(names) if (among is None or among[k]) and _any(model, fields, k)]
        if having:
            yield f"{what}: {some(having, 5)}"
    if not _disabled(mujoco, model, "CONTACT", "CONSTRAINT") and (model.npair or _can_touch(mujoco, model)):
        yield "contacts between geoms that can collide"
    if model.opt.density != 0 or model.opt.viscosity != 0:
        yield "fluid forces (density, viscosity)"
    if (model.body_plugin >= 0).any():
        yield "plugins of bodies"


def _can_touch(mujoco: Any, model: Any) -> bool:
    """Whether MuJoCo would test any two geoms for contact: geoms of bodies in relative motion, of colliding types,
    neither parent and child nor excluded."""
    kinds = np.column_stack([model.geom_bodyid, model.geom_contype, model.geom_conaffinity]).astype(np.int64)
    body, kind, affinity = np.unique(kinds, axis=0).T
    weld = model.body_weldid[body]
    above = model.body_weldid[model.body_parentid[weld]]
    touches = (kind[:, None] & affinity) | (affinity[:, None] & kind) != 0
    touches &= weld[:, None] != weld
    if not _disabled(mujoco, model, "FILTERPARENT"):
        moves = weld > 0
        touches &= ~((above[:, None] == weld) & moves[:, None] & moves)
        touches &= ~((above == weld[:, None]) & moves[:, None] & moves)
    low, high = np.minimum(body[:, None], body), np.maximum(body[:, None], body)
    return bool((touches & ~np.isin((low << 16) + high, model.exclude_signature)).any())


def _any(model: Any, fields: tuple[str, ...], k: int) -> bool:
    """Whether any of these fields is non-zero for element k; older MuJoCo versions lack some of them."""
    return any(np.any(getattr(model, field)[k]) for field in fields if hasattr(model, field))


def _drives_a_joint(mujoco: Any, model: Any) -> NDArray[Any]:
    """Which actuators drive a single joint."""
    on_joints = [int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT)]
    return np.isin(model.actuator_trntype, on_joints)


def _ignored(mujoco: Any, model: Any) -> Iterator[str]:
    """Notes on features that are not read and affect no torque of the arm."""
    if idle := [name for k, name in enumerate(_names(mujoco, model, "EQUALITY", model.neq)) if not model.eq_active0[k]]:
        yield f"inactive equality constraints are ignored: {some(idle, 5)}"
    if idle := [name for k, name in enumerate(_tendons(mujoco, model)) if not _any(model, TENDON_FORCES, k)]:
        yield f"tendons are ignored: {some(idle, 5)}"
    actuators = _names(mujoco, model, "ACTUATOR", len(model.actuator_biastype))
    on_joints = _drives_a_joint(mujoco, model)
    if idle := [name for k, name in enumerate(actuators) if not on_joints[k]]:
        yield f"actuators that do not drive a single joint are ignored: {some(idle, 5)}"
    if np.any(model.actuator_biastype != int(mujoco.mjtBias.mjBIAS_NONE)):
        yield "the control laws of actuators (position, velocity, …) are ignored: torques are inputs"


def _names(mujoco: Any, model: Any, kind: str, count: int) -> list[str]:
    """The names of the elements; an unnamed one is referred to by its kind and number."""
    kind_id = getattr(mujoco.mjtObj, f"mjOBJ_{kind}")
    return [mujoco.mj_id2name(model, kind_id, k) or f"{kind.lower()}_{k}" for k in range(count)]


def _tendons(mujoco: Any, model: Any) -> list[str]:
    return _names(mujoco, model, "TENDON", model.ntendon)


def _words(enumeration: Any, values: Any) -> list[str]:
    """The enumeration values as words: mjJNT_HINGE is "hinge"."""
    return [str(enumeration(int(value))).rsplit("_", 1)[-1].lower() for value in values]
