"""The Newton–Euler recursion of S 7.5.2 in letters: the same code that computes the numbers, S 7.5.3 line by line.

The recursion is written for augmented links, as in S: m_i, ℓ_Ci and Ī_i are letters of their own here, and
``augmented`` expresses them in the letters of links and rotors, S (7.83).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from dalembert.algebra.vectors import Mat, Vec, Z
from dalembert.coordinates.chain import Angle
from dalembert.environment.cached_property import cached_property
from dalembert.environment.extras import extra
from dalembert.equations.recursion import NewtonEulerSteps, recursion
from dalembert.errors import DalembertError
from dalembert.robot.inertia import Inertia, steiner
from dalembert.robot.mechanism import Body, Mechanism, mechanism
from dalembert.robot.model import Robot
from dalembert.robot.placement import Placement
from dalembert.symbols.closed_form import Circles, Seen, friction_of, see
from dalembert.symbols.model import AXES, Lump, Member, Model, model
from dalembert.symbols.names import Letter
from dalembert.symbols.ring import FIELD, Polynomial
from dalembert.symbols.sympy_form import angles_of, letters_of, matrix_of, to_sympy
from dalembert.symbols.write import Sum, Text, broken, grouped, written
from dalembert.terms import Viscous

if TYPE_CHECKING:
    import sympy

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
                f"the recursion of '{robot.name}' in letters would fill pages: it has {len(robot.tree_joints)} joints, and "
                f"the limit is {MOST}; arm.recursion(q, qd, qdd) gives the numbers of every step"
            )
        self._model = model(robot, parameters)
        ring = self._model.ring
        ring.letters[:] = letters[: len(ring.letters)]  # the names used in the equations
        whole = mechanism(robot)
        if whole.lifts:
            raise DalembertError(
                f"robot '{robot.name}' has links whose weight is carried, which the recursion in letters does not support; "
                "use arm.recursion(q, qd, qdd)"
            )
        self._lumps = [_lump(member) for member in self._model.members]
        self._named: list[tuple[Polynomial, int, str]] = []
        inertias = [self._inertia(i, body.inertia, parameters == "numbers") for i, body in enumerate(whole.bodies)]
        circles = Circles(self._model)
        seen = see(self._model, circles)
        q = [
            Angle(*circles({i + 1: 1})) if member.revolute else self._model.slides[i]
            for i, member in enumerate(self._model.members)
        ]
        tree = lettered(self._model, whole, inertias)
        steps, short = recursion(tree, q, self._model.qd, self._model.qdd), _Sums(circles, seen)
        number = ring.number(0)
        self._steps = {
            f.name: [Vec(short(x + number) for x in v) for v in getattr(steps, f.name)]
            for f in fields(NewtonEulerSteps)[:-1]
        }
        self._tau = [short(x + y) for x, y in zip(steps.tau, friction_of(self._model), strict=True)]

    def _inertia(self, i: int, value: Inertia, numbers: bool) -> Inertia:
        """Augmented link i with letters for nonzero values: m_i, ℓ_Ci and Ī_i."""
        ring, lump, k = self._model.ring, self._lumps[i], i + 1
        if numbers:
            return value

        def named(
            present: Polynomial, number: float, name: str, latex: str, text: str, kind: str, what: str
        ) -> Polynomial:
            if not present:
                return ring.number(0)
            letter = Letter(name, latex, text, kind, k, number, f"{what} of augmented link {k}")
            self._named.append((ring.letter(letter), i, name))
            return self._named[-1][0]

        m = named(lump.mass, value.mass, f"m_{k}", f"m_{k}", f"m_{k}", "mass", "mass")
        com = Vec(
            named(h, c, f"l_C{k}{x}", rf"\ell_{{C_{{{k}}}{x}}}", f"ℓ_C{k}{x}", "length", f"centre of mass, {x},")
            for h, c, x in zip(lump.first, value.com, AXES, strict=True)
        )
        scaled = lump.mass * lump.tensor - _about_com(lump)  # m Ī
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
        with extra("symbols", "the SymPy form of the recursion"):
            import sympy

        return letters_of(self._model.ring, [sympy.Symbol(x.letter.name) for x in self._model.qd])

    def _vectors(self, name: str) -> Vectors:
        return tuple(matrix_of([[_by_motion(x)] for x in v], self._letters) for v in self._steps[name])

    def __getattr__(self, name: str) -> Vectors:
        if name not in TITLES:
            raise AttributeError(f"a recursion in letters has no '{name}'; it has {', '.join(TITLES)} and tau")
        value = self._vectors(name)
        setattr(self, name, value)
        return value

    @cached_property
    def tau(self) -> sympy.ImmutableMatrix:
        """The joint torques τ_i, S (7.114)."""
        return matrix_of([[_by_motion(x)] for x in self._tau], self._letters)

    @cached_property
    def augmented(self) -> dict[sympy.Symbol, sympy.Expr]:
        """The letters m_i, l_Ci, Ibar_i of the augmented links in those of links and rotors: S (7.63)–(7.66), (7.83)."""
        with extra("symbols", "the SymPy form of the recursion"):
            import sympy

        def expression(x: Polynomial) -> Any:
            return to_sympy(_by_motion(x), self._letters)

        everywhere = [*self._tau, *(x for vectors in self._steps.values() for v in vectors for x in v)]
        used = {k for x in everywhere for m in x.terms for k, _ in x.ring.exponents(m)}
        out = {}
        for letter, i, name in self._named:
            if letter.number not in used:
                continue
            lump, kind = self._lumps[i], name[: name.index("_")]
            if kind == "m":
                value = expression(lump.mass)
            elif kind == "l":
                value = expression(lump.first[AXES.index(name[-1])]) / expression(lump.mass)
            else:
                a, b = map(AXES.index, name[-2:])
                value = expression(lump.tensor[a][b]) - expression(_about_com(lump)[a][b]) / expression(lump.mass)
            out[self._letters[letter.number]] = sympy.cancel(value)
        return out

    @cached_property
    def angles(self) -> dict[sympy.Symbol, sympy.Expr]:
        """The expressions for s_2, c_12, …"""
        with extra("symbols", "the SymPy form of the recursion"):
            import sympy

        return angles_of(self._model.ring.letters, [sympy.Symbol(x.name) for x in self._model.q])

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
                            yield broken(f"  {TITLES[name]}{i + 1},{axis} = ", written(ring, _by_motion(x), Text()))
                    if not any(self._steps[name][i]):
                        yield f"  {TITLES[name]}{i + 1} = 0"
                if words == "Backward":
                    yield broken(f"  τ_{i + 1} = ", written(ring, _by_motion(self._tau[i]), Text()))


def _by_motion(x: Polynomial) -> Sum:
    return grouped(x, lambda letter: letter.kind in ("velocity", "acceleration"), by_angle=True)


def _lump(member: Member) -> Lump:
    """All parts of a link as one body, about the origin of its link frame and in its axes."""
    first, *others = member.lumps or [Lump(0.0, Vec((0.0, 0.0, 0.0)), Mat.of([[0.0] * 3] * 3))]
    whole = sum(others, first)
    zero = member.further * 0
    moved = whole.moved(-member.link.translation).turned(member.link.rotation.T)
    return Lump(
        moved.mass + zero, Vec(x + zero for x in moved.first), Mat.of([x + zero for x in row] for row in moved.tensor)
    )


def _about_com(lump: Lump) -> Mat:
    """hᵀh 1 − h hᵀ, which is m times what the parallel axis theorem subtracts from Î."""
    return steiner(1, lump.first)


def lettered(model: Model, whole: Mechanism, inertias: Sequence[Inertia]) -> Mechanism:
    """The tree with letters for its numbers, with the robot's own link frames, and joints about or along z."""
    bodies = []
    for member, number, inertia in zip(model.members, whole.bodies, inertias, strict=True):
        parent = model.members[member.parent].link if member.parent >= 0 else Placement()
        placement = parent.inverse @ Placement(member.R, member.t)
        gear, I_m, z_m, reflected = member.rotor or (number.gear, 0.0, member.R @ Z, True)
        bodies.append(
            Body(
                name=number.name, parent=member.parent, revolute=member.revolute, placement=placement, axis=Z,
                offset=member.offset, link_frame=member.link, inertia=inertia, link=inertia, gear=gear,
                rotor_inertia=I_m, rotor_axis=parent.rotation.T @ z_m, rotor_position=placement.translation,
                rotor_mass=0.0, rotor_transverse=0.0, reflected=reflected, terms=(Viscous(0.0),),
            )
        )  # fmt: skip
    return Mechanism(tuple(bodies), model.gravity, Placement(), -1, Placement())


class _Sums:
    """Writes c_1 c_2 − s_1 s_2 as c_12 for consecutive joints with parallel axes."""

    def __init__(self, circles: Circles, seen: Sequence[Seen]) -> None:
        self.circles = circles
        self.pairs: list[tuple[dict[int, int], dict[int, int]]] = []
        members = circles.model.members
        runs: list[list[tuple[int, int]]] = []  # joints with parallel axes up to each, with their directions
        for i, at in enumerate(seen):
            p = members[i].parent
            before = runs[p] if p >= 0 and at.turn is None else []
            runs.append([*before, (i + 1, at.sigma)] if members[i].revolute else before if at.turn is None else [])
        for length in range(1, len(seen)):
            for run in runs:
                if len(run) > length:
                    *first, (joint, sigma) = run[-length - 1 :]
                    sense = first[0][1]
                    pair = {j: s * sense for j, s in first}, {joint: sigma * sense}
                    if pair not in self.pairs:
                        self.pairs.append(pair)

    def __call__(self, x: Polynomial) -> Polynomial:
        for a, b in self.pairs:
            (ca, sa), (cb, sb) = self.circles(a), self.circles(b)
            c, s = self.circles({**a, **b})
            x = _replaced(x, ca * cb, -1 * (sa * sb), c)
            x = _replaced(x, sa * cb, ca * sb, s)
        return x


def _replaced(x: Polynomial, first: Polynomial, second: Polynomial, by: Polynomial) -> Polynomial:
    """k (first + second) → k by, wherever both have the same factor k."""
    ((m1, k1),), ((m2, k2),) = first.terms.items(), second.terms.items()
    mask = FIELD * (m1 | m2)  # all powers of the four letters
    for rest in [m - m1 for m in x.terms if m & mask == m1]:
        c1, c2 = x.terms[rest + m1] * k1, x.terms.get(rest + m2, 0) * k2  # k1 and k2 are ±1
        if c2 != 0 and abs(c1 - c2) <= 1e-12 * abs(c1):
            x = x + Polynomial(x.ring, {rest: c1}) * (by - first - second)
    return x
