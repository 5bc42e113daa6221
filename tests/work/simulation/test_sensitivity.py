"""Derivatives of simulated motions: against complex steps, against differences through events, and forwards against
backwards for every input."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.compiler.graph.program import perform
from dalembert.compiler.quantities import rollout_derivatives
from dalembert.compiler.quantities.machine import OWN_NUMBERS
from dalembert.compiler.quantities.step_program import rollout
from dalembert.work.simulation.sensitivity import INPUTS
from dalembert.work.trajectory.planning.limits import position_limits

POSES = {"panda": [0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.5], "five-bar": [1.5, 1.5]}
SLIDERS = {"scara": 20.0, "puma560": 30.0, "panda": 3.0}  # torques that reach stops


class Complex:
    """A scalar of the equations that holds complex numbers; decisions look at real parts."""

    def __init__(self, value):
        self.value = value.value if isinstance(value, Complex) else np.asarray(value, complex)

    def _with(self, other, of):
        if not isinstance(other, (Complex, float, int)):
            return NotImplemented
        return Complex(of(self.value, Complex(other).value))

    def __add__(self, other):
        return self._with(other, np.add)

    def __sub__(self, other):
        return self._with(other, np.subtract)

    def __rsub__(self, other):
        return self._with(other, lambda x, y: y - x)

    def __mul__(self, other):
        return self._with(other, np.multiply)

    def __truediv__(self, other):
        return self._with(other, np.divide)

    def __rtruediv__(self, other):
        return self._with(other, lambda x, y: y / x)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return Complex(-self.value)

    def sin(self):
        return Complex(np.sin(self.value))

    def cos(self):
        return Complex(np.cos(self.value))

    def sign(self):
        return Complex(np.sign(self.value.real))


def shaken(name, seed, steps, step=1e-3, scale=1.0, extra=0.0, direction=None, **options):
    """A run of an arm under random torques, plus ``extra`` times a direction."""
    arm, rng = da.load(name), np.random.default_rng(seed)
    torque = rng.normal(size=(steps, arm.n)) * scale
    if direction is not None:
        torque = torque + extra * direction
    q0 = POSES.get(name, np.zeros(arm.n))
    return da.simulate(arm, q0, np.full(arm.n, 0.3), torque, steps * step, step=step, **options)


@pytest.mark.parametrize(
    "name", [pytest.param("pendulum", id="one-joint"), pytest.param("planar-2r", marks=pytest.mark.repeated)]
)
def test_gradients_over_1000_steps_are_those_of_complex_steps(name):
    arm, steps, h = da.load(name), 1000, 1e-3
    n, rng = arm.n, np.random.default_rng(0)
    torque = rng.normal(size=n) * 5.0
    run = da.simulate(arm, np.full(n, 0.3), np.full(n, -0.2), torque, steps * h, step=h, friction=False)
    names = ("q0", "qd0", "torque", "gravity")
    sizes = dict(zip(names, (n, n, n, 3), strict=True))
    gravity = np.array(OWN_NUMBERS["gravity"](arm.mechanism), float)
    slopes = run.sensitivity(names)

    # the same program on complex numbers, perturbed along all inputs at once
    whole = rollout(arm.mechanism, replace(run.task.plan, numbers=("gravity",)))
    count, at, rows = sum(sizes.values()), 0, {}
    for x, value in zip(names, (run.q[0], run.qd[0], torque, gravity), strict=True):
        rows[x] = [Complex(v + 1e-30j * np.eye(count)[at + k]) for k, v in enumerate(value)]
        at += sizes[x]
    memory = {"q": rows["q0"], "qd": rows["qd0"], "tau": rows["torque"], "gravity": rows["gravity"], "h": [h]}
    for _ in range(steps):
        perform(whole.program, whole.pieces, memory, lambda k: [0.0] * k, bool)
    for slot, of in (("q", "q"), ("qd", "qd")):
        expected = np.stack([x.value.imag / 1e-30 for x in memory[slot]])
        found = np.concatenate([getattr(slopes[x], of)[-1] for x in names], axis=1)
        assert np.allclose(found, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())

    q, qd = rng.normal(size=(2, n))
    gradient = da.gradient(run, names, q=_last(run.q, q), qd=_last(run.qd, qd))
    expected = q @ np.stack([x.value.imag / 1e-30 for x in memory["q"]])
    expected = expected + qd @ np.stack([x.value.imag / 1e-30 for x in memory["qd"]])
    assert np.allclose(
        np.concatenate([gradient[x] for x in names]), expected, rtol=1e-10, atol=1e-10 * abs(expected).max()
    )


def _last(values, weight):
    """Weights that are zero but for the last record."""
    out = np.zeros_like(values)
    out[..., -1, :] = weight
    return out


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SLIDERS)
def test_gradients_through_events_are_those_of_differences(name, seed):
    rng = np.random.default_rng(seed + 100)
    options = {"steps": 300, "scale": SLIDERS[name], "stops": "contact"}
    run = shaken(name, seed, **options)
    direction = rng.normal(size=(300, run.arm.n))
    q, qd = rng.normal(size=(2, run.arm.n))
    gradient = da.gradient(run, "torque", q=_last(run.q, q), qd=_last(run.qd, qd))["torque"]

    def value(extra):
        end = shaken(name, seed, extra=extra * SLIDERS[name], direction=direction, **options)
        return q @ end.q[-1] + qd @ end.qd[-1]

    slope = np.sum(gradient * direction) * SLIDERS[name]
    differences = [(value(e) - value(-e)) / (2.0 * e) for e in (1e-5, 3e-6, 1e-6, 3e-7)]
    assert min(abs(x - slope) for x in differences) <= 1e-6 * max(abs(slope), abs(q).max() * 1e-3)


def test_the_runs_of_that_test_have_events():
    for name in SLIDERS:
        run = shaken(name, 0, steps=300, scale=SLIDERS[name], stops="contact")
        lower, upper = position_limits(run.arm)
        at_stop = (run.q <= lower) | (run.q >= upper)
        assert at_stop.any() or (run.qd[1:] == 0.0).any()


def forwards_and_backwards(run, names, seed=0):
    """∂L/∂x of a random L, from sensitivities and by the gradient, with their largest difference."""
    rng = np.random.default_rng(seed)
    q, qd = rng.normal(size=(2, *run.q.shape))
    slopes, gradient = run.sensitivity(names), da.gradient(run, names, q=q, qd=qd)
    for x in slopes:
        expected = np.einsum("...tn,...tnk->...k", q, slopes[x].q) + np.einsum("...tn,...tnk->...k", qd, slopes[x].qd)
        found = gradient[x]
        if found.shape != expected.shape:  # a torque per step
            found = found.sum(axis=-2)
        assert np.isfinite(found).all()
        assert np.allclose(found, expected, rtol=1e-9, atol=1e-11 * max(1.0, np.abs(expected).max())), x


CONTROLLERS = {
    "pd": lambda n: da.PD(100.0, 10.0, np.full(n, 0.2)),
    "feedforward": lambda n: da.Feedforward(da.polynomial(np.zeros(n), np.full(n, 0.3), 0.2), kp=50.0, kd=5.0),
    "servo": lambda n: da.Servo(200.0, 10.0, np.full(n, 0.5), effort=60.0, speed=3.0),
    "computed": lambda n: da.ComputedTorque(100.0, 20.0, da.polynomial(np.zeros(n), np.full(n, 0.3), 0.2)),
    "passivity": lambda n: da.Adaptive(5.0, 10.0, 0.0, da.polynomial(np.zeros(n), np.full(n, 0.3), 0.2)),
    "adaptive": lambda n: da.Adaptive(5.0, 10.0, 0.3, da.polynomial(np.zeros(n), np.full(n, 0.3), 0.2)),
}
GAINS = {
    "servo": ["kp", "kd", "effort", "speed"],
    "passivity": ["lambda_", "kd"],
    "adaptive": ["lambda_", "kd", "gamma"],
}


@pytest.mark.parametrize("stops", [None, "contact"])
@pytest.mark.parametrize("name", ["pendulum", "planar-2r", "scara", "puma560", "parallelogram", "five-bar"])
def test_gradients_are_the_transposed_sensitivities(name, stops):
    arm = da.load(name)
    names = ["q0", "qd0", "torque", "tip_wrench", "parameters", "payload", "gravity", "gears"]
    names += [] if arm.loops else ["lengths"]
    run = shaken(name, 1, steps=60, scale=SLIDERS.get(name, 10.0), stops=stops, tip_wrench=np.ones(arm.sizes["W"]))
    forwards_and_backwards(run, names)


@pytest.mark.parametrize("law", CONTROLLERS)
def test_gradients_by_gains_are_the_transposed_sensitivities(law):
    arm = da.load("puma560" if law not in ("passivity", "adaptive") else "scara")
    run = da.simulate(arm, np.zeros(arm.n), np.full(arm.n, 0.2), CONTROLLERS[law](arm.n), 0.1, stops="contact")
    forwards_and_backwards(run, ["q0", "parameters", *GAINS.get(law, ["kp", "kd"])])


def differences(value, x, direction, steps=(1e-3, 1e-4, 1e-5, 1e-6)):
    """Slopes of a function along a direction, of order 4, by several differences."""
    return [
        (8 * (value(x + e * direction) - value(x - e * direction)) - value(x + 2 * e * direction) + value(x - 2 * e * direction))
        / (12 * e)
        for e in steps
    ]  # fmt: skip


@pytest.mark.parametrize("law", CONTROLLERS)
@pytest.mark.parametrize("name", ["planar-2r", pytest.param("five-bar", marks=pytest.mark.repeated)])
def test_gradients_by_gains_are_those_of_differences(name, law):
    arm, rng = da.load(name), np.random.default_rng(3)
    n, start = arm.n, np.add(POSES.get(name, 0.2), [0.0, 0.1])  # not symmetric: joints would reverse together
    law_of = CONTROLLERS[law](n)
    run = da.simulate(arm, start, np.full(n, 0.1), law_of, 0.05)
    q = rng.normal(size=run.q.shape)
    for gain, slope in da.gradient(run, GAINS.get(law, ["kp", "kd"]), q=q).items():
        slot = {"lambda_": "kp"}.get(gain, gain)
        own = np.broadcast_to(getattr(law_of, slot), slope.shape)
        direction = rng.normal(size=slope.shape) * own

        def value(x, slot=slot, law_of=law_of):
            varied = copy(law_of)
            setattr(varied, slot, x)
            return np.sum(q * (da.simulate(arm, start, np.full(n, 0.1), varied, 0.05).q - run.q))

        expected = np.sum(slope * direction)
        scale = max(abs(expected), 1e-3 * np.abs(slope * direction).sum(), 1e-12)
        assert min(abs(x - expected) for x in differences(value, own, direction)) < 1e-6 * scale, gain


def test_torques_beyond_effort_limits_have_no_slope():
    arm, rng = da.load("puma560"), np.random.default_rng(0)
    torque, q = rng.normal(size=(30, 6)) * 10.0, rng.normal(size=6)
    limits = {"effort_limits": 8.0}
    run = da.simulate(arm, np.full(6, 0.1), None, torque, 0.03, **limits)
    slope = da.gradient(run, "torque", q=q)["torque"]
    assert not slope[np.abs(torque) > 8.0].any() and slope.any()
    forwards_and_backwards(run, ["torque"])
    direction = rng.normal(size=torque.shape)

    def value(x):
        return np.sum(q * (da.simulate(arm, np.full(6, 0.1), None, x, 0.03, **limits).q - run.q))

    expected = np.sum(slope * direction)
    assert min(abs(x - expected) for x in differences(value, torque, direction)) < 1e-7 * abs(expected)
    constant = da.simulate(arm, np.full(6, 0.1), None, torque[0], 0.03, **limits)
    assert not da.gradient(constant, "torque", q=q)["torque"][np.abs(torque[0]) > 8.0].any()


@settings(max_examples=8, deadline=None)
@given(st.data())
def test_gradients_of_random_runs_are_the_transposed_sensitivities(data):
    name = data.draw(st.sampled_from(["scara", "puma560", "planar-3r"]))
    arm = da.load(name)
    lead = data.draw(st.sampled_from([(), (2,), (2, 1)]))
    numbers = st.floats(-1.0, 1.0, allow_nan=False)
    q0 = np.array(data.draw(st.lists(numbers, min_size=arm.n, max_size=arm.n))) * np.ones((*lead, 1))
    torque = np.random.default_rng(data.draw(st.integers(0, 99))).normal(size=(*lead, 40, arm.n)) * 5.0
    every = data.draw(st.sampled_from([1, 4, 7]))
    run = da.simulate(arm, q0, 0.3 * q0, torque, 0.04, every=every)
    forwards_and_backwards(run, ["q0", "qd0", "torque", "parameters"])


def test_gradients_do_not_depend_on_segments_nor_pieces(monkeypatch):
    arm, rng = da.load("puma560"), np.random.default_rng(0)
    torque = rng.normal(size=(3, 20, 50, 6)) * 20.0
    run = da.simulate(arm, np.zeros(6), np.zeros(6), torque, 0.05)
    q = rng.normal(size=run.q.shape)
    whole = da.gradient(run, ("torque", "q0", "parameters"), q=q)
    for name, size in (("CACHED", 1), ("BYTES", 1)):
        monkeypatch.setattr(rollout_derivatives, name, size)
        parts = da.gradient(run, ("torque", "q0", "parameters"), q=q)
        for x, expected in whole.items():
            assert np.allclose(parts[x], expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max()), (name, x)


def test_checkpoints_keep_memory_near_the_square_root_of_the_steps(monkeypatch):
    monkeypatch.setattr(rollout_derivatives, "BYTES", 1)
    longest = []
    original = rollout_derivatives.RolloutDerivatives._forward

    def forward(self, state, start, stop, records):
        longest.append(records)
        return original(self, state, start, stop, records)

    monkeypatch.setattr(rollout_derivatives.RolloutDerivatives, "_forward", forward)
    run = da.simulate(da.load("pendulum"), [0.5], [0.0], None, 2.5)
    da.gradient(run, "q0", q=np.ones_like(run.q))
    assert max(longest) == 50  # of 2,500 steps


def test_a_grazing_contact_has_finite_slopes():
    arm = da.load("cartesian-2")
    q0 = np.array([position_limits(arm)[1][0], 0.0])  # at the stop, at rest: it neither presses nor leaves
    run = da.simulate(arm, q0, np.zeros(2), arm.gravity_torque(q0), 0.05, stops="contact")
    slopes = run.sensitivity(("q0", "qd0", "torque"))
    assert all(np.isfinite(x.q).all() and np.isfinite(x.qd).all() for x in slopes.values())


REFUSED = {
    "adaptive": lambda arm: da.simulate(arm, [0.1], [0.0], None, 0.1, method="dop853"),
    "symplectic": lambda arm: da.simulate(arm, [0.1], [0.0], None, 0.1, method="variational", friction=False),
    "function": lambda arm: da.simulate(arm, [0.1], [0.0], lambda t, q, qd: -q, 0.1),
    "sampled": lambda arm: da.simulate(arm, [0.1], [0.0], da.PD(10.0, 1.0, [0.0]), 0.1, rate=100.0),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_runs_without_derivatives_say_why(reason):
    run = REFUSED[reason](da.load("pendulum"))
    with pytest.raises(da.DalembertError, match=r"this run has no derivatives: .*(use|give|simulate)"):
        da.gradient(run, "q0")
    with pytest.raises(da.DalembertError, match="this run has no derivatives: "):
        run.sensitivity("q0")


def test_wrong_names_and_shapes_are_one_sentence():
    run = da.simulate(da.load("pendulum"), [0.1], [0.0], None, 0.01)
    with pytest.raises(da.DalembertError, match=f"'mass'.*{', '.join(INPUTS)}"):
        run.sensitivity("mass")
    with pytest.raises(da.ShapeError, match=r"weight of q has shape \(3, 2\).*\(11, 1\)"):
        da.gradient(run, "q0", q=np.ones((3, 2)))
    with pytest.raises(da.DalembertError, match="no controller with kp"):
        da.gradient(run, "kp")
    with pytest.raises(da.DalembertError, match="no tip_wrench was given"):
        da.gradient(run, "tip_wrench")
    for wrong in (3, None, [["q0"]]):
        with pytest.raises(da.DalembertError, match="a run has no derivative by"):
            run.sensitivity(wrong)
    with pytest.raises(da.DalembertError, match="run is a Arm; give a run"):
        da.gradient(run.arm, "q0")
    held = da.simulate(run.arm, [0.1], None, da.PD(1.0, 1.0, [0.0]), 0.01)
    with pytest.raises(da.DalembertError, match="its controller has no gamma; it has kp, kd"):
        da.gradient(held, ("kp", "gamma"))
    with pytest.raises(da.DalembertError, match="come from a controller; differentiate by kp, kd instead"):
        da.gradient(held, "torque")
    recorded = da.simulate(run.arm, [0.1], None, da.RecordedTorque([0.0, 1.0], np.zeros((2, 1))), 0.01)
    with pytest.raises(da.DalembertError, match=r"its torques are a da\.RecordedTorque; give them as an array"):
        da.gradient(recorded, "torque")
    three = da.load("planar-3r")
    op = three.operational_space(task="xy")
    tip = da.simulate(three, [0.5, 0.6, 0.4], None, da.OperationalController(op, [1.0, 1.5]), 0.01)
    forwards_and_backwards(tip, ["q0", "qd0", "parameters"])
    with pytest.raises(da.DalembertError, match=r"the gains of a da\.OperationalController are constants"):
        da.gradient(tip, "kp")
