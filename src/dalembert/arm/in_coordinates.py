"""An arm in other generalized coordinates y, with q = γ(y): S Problem 7.6.

The coordinates become joints of the tree with massless links, and the original joints follow them: linearly,
q = T y + offset, or by formulas. Every other capability of an arm follows from that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.base.arrays import Array, double
from dalembert.base.environment.extras import extra
from dalembert.errors import DalembertError, ShapeError
from dalembert.mechanics.coordinates.formula import symbols
from dalembert.mechanics.equations.kinematics import frames
from dalembert.robot.model.joint_couplings import Coupling, singular
from dalembert.robot.model.robot import Robot

if TYPE_CHECKING:
    from dalembert.arm import Arm


def in_coordinates(arm: Arm, T: Any, offset: ArrayLike | None = None) -> Robot:
    """The robot in coordinates y: q = T y + offset, T is "absolute", or T is a function y → q."""
    if arm.mechanism.omitted:
        raise DalembertError(
            f"arm '{arm.name}' omits {', '.join(arm.mechanism.omitted)} terms in its own coordinates; change the coordinates "
            "of the complete arm first, arm.replace(omitted=()).in_coordinates(…), and then approximate it in the new ones"
        )
    if callable(T) and not hasattr(T, "shape"):
        if offset is not None:
            raise DalembertError("a function y → q takes no offset: add it inside the function")
        return _by_formulas(arm, T)
    matrix = absolute_angles(arm) if isinstance(T, str) and T == "absolute" else T
    if isinstance(matrix, str):
        raise DalembertError(f"coordinates '{matrix}' are not known; use 'absolute', or give a matrix T")
    numbers = double("T", matrix).copy()
    if numbers.shape != (arm.n, arm.n):
        raise ShapeError(
            f"T has shape {numbers.shape}; arm '{arm.name}' has {arm.n} joints, so it must be ({arm.n}, {arm.n})"
        )
    if not np.isfinite(numbers).all() or singular(numbers):
        raise DalembertError("T has no inverse: y would not determine the position of every joint")
    shift = np.zeros(arm.n) if offset is None else double("offset", offset)
    if shift.shape != (arm.n,):
        raise ShapeError(f"the offset has shape {shift.shape}; it must be ({arm.n},)")
    turning = [joint.type != "prismatic" for joint in arm.robot.moving_joints]
    angles = [any(numbers[turning, k]) for k in range(arm.n)]
    names = _names(arm)
    coupling = Coupling(arm.joint_names, names, numbers.tolist(), shift.tolist())
    return arm.robot.with_coordinates(names, angles, coupling)


def _by_formulas(arm: Arm, f: Callable[[Sequence[Any]], Sequence[Any]]) -> Robot:
    with extra("symbols", "a coordinate map given as a function"):
        import sympy

    names = _names(arm)
    y = symbols(names)
    try:
        given = f(list(y))
    except (TypeError, AttributeError) as problem:  # NumPy functions do not accept symbols
        raise DalembertError(
            f"the function y → q does not run on SymPy symbols ({problem}); write it with sympy.sin and similar functions"
        ) from problem
    try:
        formulas = tuple(sympy.sympify(x, dict(zip(names, y, strict=True))) for x in given)
    except TypeError:
        raise DalembertError(
            f"the function y → q returns {given!r}; it must return a list of {arm.n} formulas in y"
        ) from None
    except sympy.SympifyError:
        raise DalembertError(f"the function y → q returns {given!r}; its formulas must be SymPy expressions") from None
    if len(formulas) != arm.n:
        raise ShapeError(f"the function returns {len(formulas)} joint positions; arm '{arm.name}' has {arm.n} joints")
    for formula in formulas:
        if strangers := sorted(x.name for x in formula.free_symbols - set(y)):
            raise DalembertError(
                f"the function y → q returns '{formula}', but {', '.join(strangers)} is not one of y = ({', '.join(names)})"
            )
        if formula.has(sympy.nan, sympy.oo, -sympy.oo, sympy.zoo, sympy.I):
            raise DalembertError(f"the function y → q returns '{formula}', which is not a finite real number")
    angles = [joint.type != "prismatic" for joint in arm.robot.moving_joints]
    return arm.robot.with_coordinates(names, angles, Coupling(arm.joint_names, names, formulas=formulas))


def _names(arm: Arm) -> tuple[str, ...]:
    """y_1, y_2, …; y_1', … for an arm that is already in other coordinates."""
    names, primes = {joint.name for joint in arm.robot.joints}, ""
    while f"y_1{primes}" in names:
        primes += "'"
    return tuple(f"y_{k + 1}{primes}" for k in range(arm.n))


def absolute_angles(arm: Arm) -> Array:
    """T for y_i = the angle of link i with respect to the base: q_i = ±(y_i − y of the previous link).

    With coupled joints, y holds the angles of the actuated links: q = (A Γ)⁻¹ y, where A maps the joint positions of
    the tree to the angles of its links. For an arm that is already in other coordinates, the angles are those of the
    original.
    """
    mechanism, robot = arm.mechanism, arm.robot
    while robot.in_coordinates:
        robot = robot.without_coordinates()
    names, held = {joint.name for joint in robot.joints}, {joint.name for joint in robot.moving_joints}
    z = np.array(frames(mechanism.tree, [0.0] * mechanism.tree.n).z, dtype=np.float64)
    bodies = mechanism.tree.bodies
    for i, body in enumerate(bodies):
        if body.name in names and (not body.revolute or abs(abs(float(z[i] @ z[0])) - 1.0) > 1e-9):
            why = "is prismatic" if not body.revolute else "is not parallel to the first"
            raise DalembertError(
                f"absolute angles need revolute joints with parallel axes; joint '{body.name}' of '{arm.name}' {why}"
            )
    signs = np.sign(z @ z[0])
    A = np.zeros((mechanism.n, len(bodies)))
    for row, i in enumerate(i for i, body in enumerate(bodies) if body.name in held):
        A[row, list(mechanism.tree.path(i))] = signs[list(mechanism.tree.path(i))]
    follow = set(np.flatnonzero(A.any(axis=0))) - set(mechanism.actuated)
    if follow and not mechanism.linear:
        raise DalembertError(
            f"the absolute angles of arm '{arm.name}' are not linear in q, because its closure is not; give a function y → q"
        )
    return np.linalg.inv(A @ np.array(arm.closure_jacobian(arm.home), np.float64))
