"""Shapes of robot files stand on the right bodies, and meshes keep their form with few triangles."""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.views.web import page_shapes as room
from dalembert.views.web.decimation import decimated
from dalembert.views.web.page_shapes import shapes_of
from dalembert.views.web.posture import first_posture

URDF = """<robot name="two">
  <link name="base"><visual><geometry><box size="0.2 0.2 0.1"/></geometry></visual></link>
  <link name="upper"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0 0 0.2" rpy="0 1.5707963267948966 0"/><geometry><cylinder radius="0.04" length="0.4"/></geometry>
      <material name="red"><color rgba="1 0 0 1"/></material></visual>
    <collision><geometry><sphere radius="9"/></geometry></collision></link>
  <link name="fore"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    {visual}
    <collision><geometry><sphere radius="0.05"/></geometry></collision></link>
  <link name="tool"><visual><origin xyz="0 0 0.01"/><geometry><sphere radius="0.02"/></geometry></visual></link>
  <joint name="q1" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
  <joint name="q2" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0 0 0.4"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
  <joint name="grip" type="fixed"><parent link="fore"/><child link="tool"/><origin xyz="0 0 0.3"/></joint>
</robot>"""


def write(folder: Path, visual: str = "") -> da.Robot:
    path = folder / "two.urdf"
    path.write_text(URDF.format(visual=visual))
    return da.load(path).robot


def ball(count: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A lumpy ball of 2 count² triangles."""
    u, v = np.meshgrid(np.linspace(0, np.pi, count + 1), np.linspace(0, 2 * np.pi, count + 1), indexing="ij")
    r = 1 + 0.1 * np.cos(5 * v) * np.sin(u)
    vertices = np.stack([r * np.sin(u) * np.cos(v), 2 * r * np.sin(u) * np.sin(v), 0.5 * r * np.cos(u)], -1).reshape(
        -1, 3
    )
    i, j = (k.reshape(-1) for k in np.meshgrid(np.arange(count), np.arange(count), indexing="ij"))
    a = i * (count + 1) + j
    return vertices, np.concatenate(
        [np.stack(t, 1) for t in ((a, a + count + 1, a + 1), (a + 1, a + count + 1, a + count + 2))]
    )


def obj(vertices: Any, triangles: Any) -> str:
    lines = [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in vertices]
    return "\n".join(lines + [f"f {a} {b} {c}" for a, b, c in triangles + 1])


def unpacked(mesh: dict[str, Any]) -> tuple[Any, Any]:
    grid = np.frombuffer(base64.b64decode(mesh["corners"]), "<u2").reshape(-1, 3)
    low, high = np.array(mesh["low"]), np.array(mesh["high"])
    return low + (high - low) * grid / 65535, np.frombuffer(base64.b64decode(mesh["triangles"]), "<u2").reshape(-1, 3)


def test_shapes_stand_on_the_bodies_that_carry_them(tmp_path: Path) -> None:
    data, notes = shapes_of(write(tmp_path))
    assert [(shape["body"], shape["kind"]) for shape in data["shapes"]] == [
        (-1, "box"),
        (0, "cylinder"),
        (1, "sphere"),  # the collision shape of a link without visuals
        (1, "sphere"),  # of a link that is fixed to another
    ]
    place = np.array(data["shapes"][1]["matrix"]).reshape(4, 4)
    assert np.allclose(place[:3, 3], (0, 0, 0.2)) and np.allclose(place[:3, 2], (1, 0, 0))
    assert np.allclose(np.array(data["shapes"][3]["matrix"]).reshape(4, 4)[:3, 3], (0, 0, 0.31))
    assert data["shapes"][1]["colour"] == [1, 0, 0, 1] and notes == []


@pytest.mark.parametrize("most", [60, 500, 2000])
def test_decimation_keeps_the_box_and_the_budget(most: int) -> None:
    vertices, triangles = ball(90)
    fewer, faces = decimated(vertices, triangles, most)
    assert 0.4 * most < len(faces) <= most and faces.max() == len(fewer) - 1
    box = np.ptp(vertices, axis=0)
    assert np.abs(fewer.min(axis=0) - vertices.min(axis=0)).max() < 0.6 * box.max() / np.sqrt(most / 8)
    assert (fewer.min(axis=0) >= vertices.min(axis=0) - 1e-12).all()
    assert (fewer.max(axis=0) <= vertices.max(axis=0) + 1e-12).all()
    volume = lambda v, f: np.einsum("ij,ij->", v[f[:, 0]], np.cross(v[f[:, 1]], v[f[:, 2]])) / 6  # noqa: E731
    assert volume(fewer, faces) == pytest.approx(volume(vertices, triangles), rel=8 / most**0.5)


def test_decimation_keeps_the_corners_of_a_box() -> None:
    """A finely meshed cube with few triangles still has its corners and edges."""
    n = 24
    grid = np.stack(np.meshgrid(*3 * [np.arange(n + 1)], indexing="ij"), -1).reshape(-1, 3) / n
    number = lambda i, j, k: (i * (n + 1) + j) * (n + 1) + k  # noqa: E731
    faces = []
    for i in range(n):
        for j in range(n):
            for side in (0, n):
                for corner in (lambda a, b, s: (s, a, b), lambda a, b, s: (a, s, b), lambda a, b, s: (a, b, s)):
                    p, q, r, t = (number(*corner(i + a, j + b, side)) for a, b in ((0, 0), (1, 0), (1, 1), (0, 1)))
                    faces += [(p, q, r), (p, r, t)]
    fewer, _ = decimated(grid, np.array(faces), 300)
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    assert np.linalg.norm(corners[:, None] - fewer[None], axis=2).min(axis=1).max() < 1e-6


def test_meshes_are_read_decimated_and_packed(tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    vertices, triangles = ball(60)
    (tmp_path / "ball.obj").write_text(obj(vertices, triangles))
    visual = '<visual><geometry><mesh filename="ball.obj" scale="0.1 0.1 0.1"/></geometry></visual>'
    data, notes = shapes_of(write(tmp_path, visual))
    shape = next(shape for shape in data["shapes"] if shape["kind"] == "mesh")
    assert (shape["body"], shape["mesh"], shape["size"], notes) == (1, 0, [0.1, 0.1, 0.1], [])
    corners, faces = unpacked(data["meshes"][0])
    assert 1000 < len(faces) <= room.MESH_TRIANGLES
    assert np.abs(np.ptp(corners, axis=0) / np.ptp(vertices, axis=0) - 1).max() < 0.05


def test_the_meshes_of_a_robot_keep_to_its_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("trimesh")
    monkeypatch.setattr(room, "ROBOT_TRIANGLES", 500)
    vertices, triangles = ball(30)
    visual = ""
    for k in range(3):
        (tmp_path / f"{k}.obj").write_text(obj((1 + k) * vertices, triangles))
        visual += f'<visual><geometry><mesh filename="{k}.obj"/></geometry></visual>'
    data, _ = shapes_of(write(tmp_path, visual))
    counts = [len(unpacked(mesh)[1]) for mesh in data["meshes"]]
    assert len(counts) == 3 and sum(counts) <= 500 and min(counts) > 80


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("gone.stl", "there is no such file"),
        ("a.dae", "'.dae' is not a supported mesh format"),
        ("package://none/b.stl", "was not found"),
        ("bad.stl", "bad.stl"),
    ],
)
def test_a_mesh_that_cannot_be_read_is_a_note_and_the_collision_shape_is_drawn(
    tmp_path: Path, file: str, why: str
) -> None:
    pytest.importorskip("trimesh")
    (tmp_path / "a.dae").write_text("<COLLADA/>")
    (tmp_path / "bad.stl").write_bytes(b"solid nothing of the kind")
    data, notes = shapes_of(write(tmp_path, f'<visual><geometry><mesh filename="{file}"/></geometry></visual>'))
    assert [shape["kind"] for shape in data["shapes"] if shape["body"] == 1] == ["sphere", "sphere"]
    assert len(notes) == 1 and why in notes[0] and "not drawn" in notes[0]


def test_without_trimesh_a_note_names_the_extra(tmp_path: Path) -> None:
    (tmp_path / "ball.obj").write_text(obj(*ball(4)))
    write(tmp_path, '<visual><geometry><mesh filename="ball.obj"/></geometry></visual>')
    code = (
        "import sys; sys.path.insert(0, sys.argv[2]); import dalembert as da; from dalembert.views.web.page_shapes import shapes_of\n"
        "print(shapes_of(da.load(sys.argv[1]).robot)[1][0])"
    )
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    (blocked / "trimesh.py").write_text("raise ModuleNotFoundError(name='trimesh')")
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "two.urdf"), str(blocked)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "pip install 'dalembert[meshes]'" in done.stdout


def test_arms_of_the_library_have_no_shapes() -> None:
    assert shapes_of(da.load("panda").robot) == ({"shapes": [], "meshes": [], "bare": [], "missing": []}, [])


def test_links_whose_meshes_cannot_be_read_are_drawn_as_without_them_and_named(
    tmp_path: Path, page_of: Callable[..., Any]
) -> None:
    """The arm is not in pieces: every link has a shape, its own or that of its kinematics."""
    path = tmp_path / "two.urdf"
    lost = '<visual><geometry><mesh filename="package://two/{0}.stl"/></geometry></visual>'
    text = URDF.format(visual=lost.format("fore")).replace(
        '<collision><geometry><sphere radius="0.05"/></geometry></collision>', ""
    )
    path.write_text(
        text.replace(
            '<visual><origin xyz="0 0 0.01"/><geometry><sphere radius="0.02"/></geometry></visual>', lost.format("tool")
        )
    )
    arm = da.load(path)
    data, _ = shapes_of(arm.robot)
    assert data["bare"] == [1] and data["missing"] == ["fore.stl", "tool.stl"]
    page = page_of(arm)
    assert "2 mesh files could not be read: fore.stl, tool.stl." in page.locator(".missing").inner_text()
    kinds = page.evaluate("() => dalembert.app.stage.layers.get('arm').make().map(({ kind }) => kind)")
    assert kinds == ["box", "cylinder", "capsule", "cylinder", "sphere"]


@pytest.mark.parametrize("name", ["panda", "ur10", "puma560", "stanford", "kr300", "palletizer", "planar-2r"])
def test_the_first_posture_is_within_the_limits_and_above_the_base(name: str) -> None:
    arm = da.load(name)
    q = np.array(first_posture(arm))
    limits = [joint.limits for joint in arm.robot.moving_joints]
    assert all(
        (x.lower is None or v >= x.lower) and (x.upper is None or v <= x.upper) for v, x in zip(q, limits, strict=True)
    )
    up = -np.array(arm.robot.gravity, float)
    points = np.concatenate([arm.link_poses(q)[:, :3, 3], arm.pose(q)[None, :3, 3]])
    assert (points @ up).min() > -1e-9
