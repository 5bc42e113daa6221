"""Robots as Drake reads them: SDF in its many spellings, and rotors of URDF files. ``make test-drake`` installs Drake."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da

pytest.importorskip("pydrake")

from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import MultibodyForces

from random_sdf import RandomSdf

TOLERANCE = 1e-10
MODELS = Path(__file__).resolve().parents[3] / "shared" / "data" / "models"


class Drake:
    """Drake's plant of a file, spoken to in the order of an arm's joints."""

    def __init__(self, path: Path, arm: da.Arm) -> None:
        self.plant = MultibodyPlant(0.0)
        parser = Parser(self.plant)
        if (path.parent / "part").is_dir():
            parser.package_map().Add("part", str(path.parent / "part"))
        model, *_ = parser.AddModels(str(path))
        if arm.robot.root != "world":
            root = self.plant.GetBodyByName(arm.robot.root, model)
            self.plant.WeldFrames(self.plant.world_frame(), root.body_frame())
        self.plant.mutable_gravity_field().set_gravity_vector(arm.robot.gravity)
        self.plant.Finalize()
        self.context = self.plant.CreateDefaultContext()
        self.order = [self._place(name) for name in arm.joint_names]
        assert sorted(self.order) == list(range(self.plant.num_velocities()))

    def _place(self, name: str) -> int:
        """Where a joint of ours stands in their velocities."""
        last, _, axis = name.rpartition("::")[2].partition(":")
        for index in self.plant.GetJointIndices():
            joint = self.plant.get_joint(index)
            if joint.name() == last and joint.num_velocities():
                return joint.velocity_start() + (int(axis) - 1 if axis else 0)
        raise AssertionError(name)

    def at(self, q: np.ndarray, qd: np.ndarray) -> None:
        for values, put in ((q, self.plant.SetPositions), (qd, self.plant.SetVelocities)):
            theirs = np.zeros(len(values))
            theirs[self.order] = values
            put(self.context, theirs)

    def torques(self, qdd: np.ndarray) -> np.ndarray:
        """With springs, dampers and gravity."""
        theirs = np.zeros(len(qdd))
        theirs[self.order] = qdd
        forces = MultibodyForces(self.plant)
        self.plant.CalcForceElementsContribution(self.context, forces)
        return self.plant.CalcInverseDynamics(self.context, theirs, forces)[self.order]


def relative(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(np.asarray(a) - b).max(initial=0.0) / max(1e-9, np.abs(b).max(initial=0.0)))


def assert_equal_to_drake(path: Path, states: int = 8) -> None:
    """Torques at random states: inertia, velocity, gravity, springs and dampers; one kernel is compiled for each arm."""
    arm = da.load(path, physical="warn")
    drake = Drake(path, arm)
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, states, arm.n))
    for k, ours in enumerate(arm.inverse_dynamics(q, qd, qdd)):
        drake.at(q[k], qd[k])
        assert relative(ours, drake.torques(qdd[k])) < TOLERANCE


@pytest.mark.parametrize("seed", range(60))
def test_random_sdf_equals_drake(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "arm.sdf"
    path.write_text(RandomSdf(seed).text())
    if da.load(path).n:
        assert_equal_to_drake(path)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("how", ["", ' merge="true"'])
@pytest.mark.parametrize("placement", ["", "<placement_frame>link1</placement_frame>"])
def test_included_sdf_equals_drake(seed: int, how: str, placement: str, tmp_path: Path) -> None:
    """A model that is included into another, which holds it."""
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "model.sdf").write_text(RandomSdf(100 + seed).part())
    inside = RandomSdf(200 + seed, "1.10")
    inner = "link0" if how else "part::link0"
    (tmp_path / "arm.sdf").write_text(
        f'<sdf version="1.10"><model name="m"><link name="base"/><include{how}><uri>model://part/model.sdf</uri><name>part</name>'
        f"<pose>{inside.numbers(6)}</pose>{placement}</include>"
        f'<joint name="hold" type="revolute"><parent>world</parent><child>base</child>{inside.axis("axis", [], "0 1 1", True)}'
        f'</joint><joint name="grip" type="prismatic"><parent>base</parent><child>{inner}</child>'
        f"{inside.axis('axis', [], '1 0 1', True)}</joint></model></sdf>"
    )
    assert_equal_to_drake(tmp_path / "arm.sdf")


@pytest.mark.parametrize("name", ["iiwa14.urdf", "panda_arm.urdf"])
def test_rotors_of_transmissions_equal_drake(name: str, tmp_path: Path) -> None:
    if not (MODELS / name).exists():
        pytest.skip("../shared/data is not here")
    assert_equal_to_drake(MODELS / name)
    da.load(MODELS / name).save(tmp_path / name)
    assert_equal_to_drake(tmp_path / name)
