"""Integration methods, one entry each: adding a method means adding an entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import fsum, inf
from typing import Any

from dalembert.errors import DalembertError


@dataclass(frozen=True)
class Tableau:
    """An explicit Runge–Kutta method: x + h Σ b_i k_i with k_i = f(t + c_i h, x + h Σ a_ij k_j), j < i; c_i = Σ a_ij."""

    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]

    @property
    def c(self) -> tuple[float, ...]:
        """Times of the stages, as fractions of the step."""
        return tuple(fsum(row) for row in self.a)

    @property
    def instants(self) -> tuple[float, ...]:
        """Distinct times of the stages, in order."""
        return tuple(sorted(set(self.c)))

    @property
    def to_the_end(self) -> Tableau:
        """The same method with an additional stage at the end of the step, which event detection needs."""
        return self if self.c[-1] == 1.0 else Tableau((*self.a, self.b), (*self.b, 0.0))

    def step(self, rate: Callable[[float, Any], Any], t: float, x: Any, h: float) -> Any:
        """x after a step h from t, where ẋ = rate(t, x): on arrays, outside of compiled loops."""
        slopes: list[Any] = []
        for c, row in zip(self.c, self.a, strict=True):
            slopes.append(rate(t + c * h, x + h * sum(a * k for a, k in zip(row, slopes, strict=True))))
        return x + h * sum(b * k for b, k in zip(self.b, slopes, strict=True))


RK4 = Tableau(((), (1 / 2,), (0.0, 1 / 2), (0.0, 0.0, 1.0)), (1 / 6, 1 / 3, 1 / 3, 1 / 6))


@dataclass(frozen=True)
class Method:
    """An integration method.

    order      order of the error of fixed steps, and of the rule inside adaptive ones
    tableau    of fixed Runge–Kutta steps; without it, the steps are those of the midpoint Lagrangian
    solver     SciPy class for adaptive steps
    stable     largest product of a step and the rate of a decay (1/s) at which fixed steps are stable, with a margin:
               RK4 is up to 2.785, and the iteration of the midpoint rule converges in time up to 1.25
    divided    the largest product after longer steps are divided. RK4 multiplies a fast deviation by 0.27 per step there,
               near its least, so that what a jump of the torque excites has decayed before the next one
    symplectic whether the energy error stays bounded; the state is then q and the momenta
    refuses    what it does not support, with the message: "parameters" that differ from the arm's, "dry friction",
               "contact" with stops, loops closed by "Newton", "adaptation" of parameters during the motion
    """

    order: int
    tableau: Tableau | None = None
    solver: str = ""
    stable: float = inf
    divided: float = inf
    symplectic: bool = False
    refuses: Mapping[str, str] = field(default_factory=dict)


ADAPTATION = "adaptive control has its own state, the parameters, which only fixed steps integrate; use method {others}"

METHODS: dict[str, Method] = {
    "rk4": Method(4, RK4, stable=2.5, divided=1.5),
    "dop853": Method(8, solver="DOP853", refuses={"adaptation": ADAPTATION}),
    "variational": Method(
        2,
        stable=1.2,
        divided=1.2,
        symplectic=True,
        refuses={
            "parameters": "the variational method does not support parameters; use {others}",
            "approximation": "arm '{arm}' omits terms of its equations of motion, which are then not derived from an "
            "energy, as the variational method requires; use method {others}",
            "Newton": "arm '{arm}' closes its loops by Newton's method, which the variational method does not support: "
            "each of its iterations would close them again, and the residual error would corrupt the momentum that it "
            "conserves; use {others}",
            "dry friction": "arm '{arm}' has dry friction, which the variational method does not support; use method "
            "{others}, or friction=False",
            "contact": "the variational method does not support contact; use method {others}",
            "adaptation": ADAPTATION,
        },
    ),
}


def check_method(name: str, arm: str, needs: Iterable[str] = ()) -> Method:
    """The method of this name; raises an error if there is none or if it does not support what this arm needs."""
    if name not in METHODS:
        raise DalembertError(f"there is no method '{name}'; choose from {', '.join(METHODS)}")
    for need in needs:
        if need in METHODS[name].refuses:
            others = " or ".join(f"'{other}'" for other, method in METHODS.items() if need not in method.refuses)
            raise DalembertError(METHODS[name].refuses[need].format(arm=arm, others=others))
    return METHODS[name]
