"""The symbolic Newton–Euler recursion of S 7.5.2: the same code that computes the numbers, S 7.5.3 line by line.

The recursion is written for augmented links, as in S: m_i, ℓ_Ci and Ī_i are letters of their own here, and
``augmented`` expresses them in the letters of links and rotors, S (7.83).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from dalembert.base.algebra.vectors import Mat, Vec
from dalembert.base.environment.cached_property import cached_property
from dalembert.errors import DalembertError
from dalembert.mechanics.coordinates.chain import Angle
from dalembert.mechanics.equations.recursion import recursion
from dalembert.mechanics.symbols.closed_form import Circles, GroupPlace, group_places, replace_products
from dalembert.mechanics.symbols.grouped_sums import Sum, grouped
from dalembert.mechanics.symbols.names import Letter
from dalembert.mechanics.symbols.ring import FIELD, Polynomial, occurring
from dalembert.mechanics.symbols.symbolic_mechanism import AXES, model
from dalembert.mechanics.symbols.sympy_form import angles_of, letters_of, matrix_of, to_sympy
from dalembert.mechanics.symbols.sympy_package import sympy
from dalembert.mechanics.symbols.write import Text, broken
from dalembert.robot.model.inertia import Inertia, steiner
from dalembert.robot.model.mechanism import Mechanism, mechanism
from dalembert.robot.model.robot import Robot

MOST = 4  # joints: with more, the vectors fill pages
TITLES = {
    "omega": "ω_", "omega_dot": "ω̇_", "p_dot": "ṗ_", "p_ddot": "p̈_", "p_ddot_C": "p̈_C", "omega_dot_m": "ω̇_m",
    "F": "F_", "M": "M_", "f": "f_", "mu": "μ_",
}  # fmt: skip
Vectors = tuple["sympy.ImmutableMatrix", ...]


class SymbolicRecursion:
    """Every step of S (7.107)–(7.114) in link axes: SymPy columns of three, link by link.

    omega, omega_dot, p_dot, p_ddot, p_ddot_C, omega_dot_m, F, M, f, mu   as in ``arm.recursion``; p̈ includes −g_0
    tau         the torques τ_i, friction included
    augmented   {m_1: m_l1 + m_m2, …}: the letters of the augmented links in terms of those of links and rotors, S
                (7.83)
    angles      {c_12: cos(theta_1 + theta_2), …}
    text()      the steps as S 7.5.3 lists them

    >>> import dalembert as da
    >>> steps = da.load("planar-2r").equations().recursion
    >>> steps.omega[1].T, steps.p_ddot[0].T
    (Matrix([[0, 0, thetadot_1 + thetadot_2]]), Matrix([[-a_1*thetadot_1**2 + g*s_1, a_1*thetaddot_1 + c_1*g, 0]]))
    """

    def __init__(self, robot: Robot, parameters: str, letters: Sequence[Letter]) -> None:
        if len(robot.tree_joints) > MOST:
            raise DalembertError(
                f"the symbolic recursion of '{robot.name}' would fill pages: it has {len(robot.tree_joints)} joints, and "
                f"the limit is {MOST}; arm.recursion(q, qd, qdd) gives the numbers of every step"
            )
        self._model = model(robot, parameters)
        ring = self._model.ring
        ring.letters[:] = letters[: len(ring.letters)]  # the names used in the equations
        whole = mechanism(robot)
        if whole.lifts:
            raise DalembertError(
                f"robot '{robot.name}' has links whose weight is carried, which the symbolic recursion does not support; "
                "use arm.recursion(q, qd, qdd)"
            )
        tree = self._model.tree
        self._moments = [body.inertia for body in tree.bodies]
        self._named: list[tuple[Polynomial, ...]] = []  # a letter, and its value as a quotient
        numbers = parameters == "numbers"
        inertias = [body.inertia if numbers else self._inertia(i, body.inertia) for i, body in enumerate(whole.bodies)]
        augmented = (replace(body, inertia=x, link=x) for body, x in zip(tree.bodies, inertias, strict=True))
        circles = Circles(ring, self._model.q, self._model.phases)
        places = group_places(self._model, circles)
        q = [
            Angle(*circles({i + 1: 1})) if body.revolute else self._model.slides[i]
            for i, body in enumerate(tree.bodies)
        ]
        steps = recursion(replace(tree, bodies=tuple(augmented)), q, self._model.qd, self._model.qdd)
        short, zero = _Sums(circles, tree, places), ring.number(0)
        self._steps = {
            name: [Vec(short(x + zero) for x in v) for v in vectors]
            for name, vectors in steps._asdict().items()
            if name != "tau"
        }
        self._tau = [short(x + y) for x, y in zip(steps.tau, self._model.further, strict=True)]

    def _inertia(self, i: int, value: Inertia) -> Inertia:
        """Augmented link i with symbols for nonzero values: m_i, ℓ_Ci and Ī_i."""
        ring, moments, k = self._model.ring, self._moments[i], i + 1

        def named(
            moment: Polynomial, number: float, name: str, latex: str, text: str, kind: str, what: str
        ) -> Polynomial:
            if not moment:
                return ring.number(0)
            letter = ring.letter(Letter(name, latex, text, kind, k, number, f"{what} of augmented link {k}"))
            self._named.append((letter, moment, ring.number(1) if kind == "mass" else moments.mass))
            return letter

        m = named(moments.mass, value.mass, f"m_{k}", f"m_{k}", f"m_{k}", "mass", "mass")
        com = Vec(
            named(h, c, f"l_C{k}{x}", rf"\ell_{{C_{{{k}}}{x}}}", f"ℓ_C{k}{x}", "length", f"centre of mass, {x},")
            for h, c, x in zip(moments.first_moments, value.com, AXES, strict=True)
        )
        scaled = moments.mass * moments.tensor_at_origin - steiner(1, moments.first_moments)  # m Ī
        entries: dict[tuple[int, int], Polynomial] = {}
        for a in range(3):
            for b in range(a, 3):
                x, number = AXES[a] + AXES[b], value.tensor[a][b]
                latex, text = rf"\bar{{I}}_{{{k}{x}}}", f"Ī_{k}{x}"
                entries[a, b] = named(scaled[a][b], number, f"Ibar_{k}{x}", latex, text, "tensor", f"tensor entry {x}")
        return Inertia(m, com, Mat.of([entries[min(a, b), max(a, b)] for b in range(3)] for a in range(3)))

    # -- SymPy -----------------------------------------------------------------------------------

    @cached_property
    def _letters(self) -> list[Any]:
        return letters_of(self._model.ring, self._model.qd)

    def __getattr__(self, name: str) -> Vectors:
        if name not in TITLES:
            raise AttributeError(f"a symbolic recursion has no '{name}'; it has {', '.join(TITLES)} and tau")
        value = tuple(matrix_of([[_by_motion(x)] for x in v], self._letters) for v in self._steps[name])
        setattr(self, name, value)
        return value

    @cached_property
    def tau(self) -> sympy.ImmutableMatrix:
        """The joint torques τ_i, S (7.114)."""
        return matrix_of([[_by_motion(x)] for x in self._tau], self._letters)

    @cached_property
    def augmented(self) -> dict[sympy.Symbol, sympy.Expr]:
        """The letters m_i, l_Ci, Ibar_i of the augmented links in those of links and rotors: S (7.63)–(7.66), (7.83)."""

        def expression(x: Polynomial) -> Any:
            return to_sympy(_by_motion(self._model.exact(x)), self._letters)

        everywhere = [*self._tau, *(x for vectors in self._steps.values() for v in vectors for x in v)]
        used = occurring(everywhere)
        return {
            self._letters[letter.number]: sympy.cancel(expression(moment) / expression(mass))
            for letter, moment, mass in self._named
            if letter.number in used
        }

    @cached_property
    def angles(self) -> dict[sympy.Symbol, sympy.Expr]:
        """The expressions for s_2, c_12, …"""
        return angles_of(self._model.ring.letters, self._model.q)

    # -- text ------------------------------------------------------------------------------------

    def text(self) -> str:
        """The steps in the order of S 7.5.3, as plain text."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        ring, n = self._model.ring, len(self._tau)
        forward, backward = list(TITLES)[:6], list(TITLES)[6:]
        for words, names, links in (("Forward", forward, range(n)), ("Backward", backward, reversed(range(n)))):
            for i in links:
                yield f"{words} recursion: link {i + 1}"
                for name in names:
                    for axis, x in zip(AXES, self._steps[name][i], strict=True):
                        if x:
                            yield broken(f"  {TITLES[name]}{i + 1},{axis} = ", Text().terms(ring, _by_motion(x)))
                    if not any(self._steps[name][i]):
                        yield f"  {TITLES[name]}{i + 1} = 0"
                if words == "Backward":
                    yield broken(f"  τ_{i + 1} = ", Text().terms(ring, _by_motion(self._tau[i])))


def _by_motion(x: Polynomial) -> Sum:
    return grouped(x, lambda letter: letter.kind in ("velocity", "acceleration"), by_angle=True)


class _Sums:
    """Writes c_1 c_2 − s_1 s_2 as c_12 for consecutive joints with parallel axes."""

    def __init__(self, circles: Circles, tree: Mechanism, places: Sequence[GroupPlace]) -> None:
        self.circles, bodies = circles, tree.bodies
        self.pairs: list[
            tuple[dict[int, int], dict[int, int]]
        ] = []  # the angle of the joints before, negative, and the next
        runs: list[list[tuple[int, int]]] = []  # joints with parallel axes up to each, with their directions
        for i, at in enumerate(places):
            p = bodies[i].parent
            before = runs[p] if p >= 0 and at.turn is None else []
            runs.append([*before, (i + 1, at.sigma)] if bodies[i].revolute else before if at.turn is None else [])
        for length in range(1, len(places)):
            for run in runs:
                if len(run) > length:
                    *first, (joint, sigma) = run[-length - 1 :]
                    sense = first[0][1]
                    pair = {j: -s * sense for j, s in first}, {joint: sigma * sense}
                    if pair not in self.pairs:
                        self.pairs.append(pair)

    def __call__(self, x: Polynomial) -> Polynomial:
        for a, b in self.pairs:
            terms, (letters,) = (
                dict(x.terms),
                math.prod((*self.circles(a), *self.circles(b)), start=x.ring.number(1)).terms,
            )
            replace_products(terms, self.circles, a, b, FIELD * letters)
            x = Polynomial(x.ring, terms) * x.ring.number(1)  # squares of new sines are reduced
        return x
