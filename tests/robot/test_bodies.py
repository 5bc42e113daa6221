"""Inertias of links from shapes and meshes with a density: the integrals of S (7.5)–(7.11)."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import RobotError
from dalembert.robot import Inertia, Placement, Shape
from dalembert.robot.model.inertia import from_ten_parameters, point_masses, steiner, ten_parameters
from dalembert.robot.model.shapes import MATERIALS, density_of
from dalembert.robot.readers.toml_reader import parse_toml
from dalembert.robot.readers.vendor_files import with_density

HERE = Placement.rpy(0.3, -0.7, 1.1, (0.2, -0.1, 0.4))
SOLIDS = {
    "box": (0.1, 0.25, 0.4),
    "cylinder": (0.06, 0.5),
    "sphere": (0.12,),
    "capsule": (0.05, 0.3),
}


def values(body: Inertia) -> np.ndarray:
    return np.array([body.mass, *body.com, *np.ravel(np.array(body.tensor, float))])


def section(kind: str, size: tuple[float, ...], z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Area and second moments ∫x² dA, ∫y² dA of the cut across z."""
    if kind == "box":
        x, y, _ = size
        return np.full_like(z, x * y), np.full_like(z, x**3 * y / 12), np.full_like(z, x * y**3 / 12)
    radius = size[0] * np.ones_like(z)
    if kind != "cylinder":
        beyond = np.maximum(np.abs(z) - (size[1] / 2 if kind == "capsule" else 0.0), 0.0)
        radius = np.sqrt(np.maximum(size[0] ** 2 - beyond**2, 0.0))
    return math.pi * radius**2, math.pi * radius**4 / 4, math.pi * radius**4 / 4


@pytest.mark.parametrize(("kind", "size"), SOLIDS.items(), ids=SOLIDS)
def test_closed_forms_are_the_integrals_of_s_7_11(kind, size):
    """∫ρ dV, S (7.7) and (7.11), by Gauss's rule over cuts across z: exact for these shapes."""
    reach = {"box": size[-1] / 2, "cylinder": size[-1] / 2, "sphere": size[0]}.get(kind, size[0] + size[-1] / 2)
    edges = [-reach, reach] if kind != "capsule" else [-reach, -size[1] / 2, size[1] / 2, reach]
    x, w = np.polynomial.legendre.leggauss(5)
    mass, second = 0.0, np.zeros(3)
    for low, high in itertools.pairwise(edges):
        z, weight = (high + low) / 2 + (high - low) / 2 * x, (high - low) / 2 * w
        area, xx, yy = section(kind, size, z)
        mass += 500.0 * weight @ area
        second += 500.0 * np.array([weight @ xx, weight @ yy, weight @ (area * z**2)])
    tensor = np.diag(second.sum() - second)
    body = Shape(kind, size).inertia(density=500.0)
    np.testing.assert_allclose(values(body), [mass, 0, 0, 0, *tensor.ravel()], rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize(("kind", "size"), SOLIDS.items(), ids=SOLIDS)
def test_a_placed_shape_is_turned_and_moved_by_steiner(kind, size):
    own, placed = Shape(kind, size).inertia(mass=3.0), Shape(kind, size, HERE).inertia(mass=3.0)
    R = HERE.rotation
    at_origin = R @ (own.tensor @ R.T) + steiner(3.0, HERE.translation)
    np.testing.assert_allclose(np.array(placed.tensor_at_origin), np.array(at_origin), atol=1e-15)
    assert placed.mass == pytest.approx(3.0) and placed.com == HERE.translation and placed.impossible() is None


@pytest.mark.parametrize(("kind", "size"), SOLIDS.items(), ids=SOLIDS)
def test_a_hollow_body_and_its_hollow_are_the_full_one(kind, size):
    wall = 0.01
    inner = tuple(x - 2 * wall for x in size) if kind == "box" else (size[0] - wall, *size[1:])
    whole = Shape(kind, size, HERE).inertia(2700, wall=wall) + Shape(kind, inner, HERE).inertia(2700)
    np.testing.assert_allclose(values(whole), values(Shape(kind, size, HERE).inertia(2700)), rtol=1e-12, atol=1e-14)


def test_sizes_are_numbers_or_words():
    assert Shape("sphere", 0.5).size == (0.5,) and Shape("cylinder", ("40 mm", "0.5 m")).size == (0.04, 0.5)
    for size in ("40", (None,), ("40 miles",)):
        with pytest.raises(
            RobotError, match=r"the size of a sphere has .*; give numbers in m, or strings such as '40 mm'"
        ):
            Shape("sphere", size)


def test_a_tube_has_the_closed_form_of_books():
    outer, inner, length = 0.05, 0.045, 0.6
    tube = Shape("cylinder", (outer, length)).inertia("steel", wall=outer - inner)
    mass = 7850 * math.pi * (outer**2 - inner**2) * length
    assert tube.mass == pytest.approx(mass)
    assert tube.tensor[2][2] == pytest.approx(mass * (outer**2 + inner**2) / 2)
    assert tube.tensor[0][0] == pytest.approx(mass * (3 * (outer**2 + inner**2) + length**2) / 12)


# -- meshes ----------------------------------------------------------------------------------------


def box_triangles(size: tuple[float, ...]) -> np.ndarray:
    """The twelve triangles of a box about the origin, looking outwards: (12, 3, 3)."""
    triangles = []
    for axis, sign in itertools.product(range(3), (1.0, -1.0)):
        n, u = np.zeros(3), np.zeros(3)
        n[axis], u[(axis + 1) % 3] = sign, 1.0
        v = np.cross(n, u)
        a, b, c, d = (n + s * u + t * v for s, t in ((-1, -1), (1, -1), (1, 1), (-1, 1)))
        triangles += [(a, b, c), (a, c, d)]
    return np.array(triangles) * np.array(size) / 2


def write_stl(path: Path, triangles: np.ndarray, text: bool = False) -> Path:
    if text:
        facets = "".join(
            "facet normal 0 0 0\nouter loop\n"
            + "".join(f"vertex {x!r} {y!r} {z!r}\n" for x, y, z in t.tolist())
            + "endloop\nendfacet\n"
            for t in triangles
        )
        path.write_text(f"solid body\n{facets}endsolid body\n")
        return path
    facets = np.zeros(len(triangles), dtype=[("n", "<f4", 3), ("v", "<f4", (3, 3)), ("more", "<u2")])
    facets["v"] = triangles
    path.write_bytes(b"\0" * 80 + np.uint32(len(triangles)).tobytes() + facets.tobytes())
    return path


def ball_triangles(radius: float, rings: int) -> np.ndarray:
    """A sphere of latitudes and longitudes."""
    theta, phi = np.linspace(0, math.pi, rings + 1), np.linspace(0, 2 * math.pi, 2 * rings + 1)[:-1]
    points = radius * np.stack(
        [
            np.outer(np.sin(theta), np.cos(phi)),
            np.outer(np.sin(theta), np.sin(phi)),
            np.outer(np.cos(theta), np.ones_like(phi)),
        ],
        -1,
    )
    points[0], points[-1] = (0, 0, radius), (0, 0, -radius)
    triangles = []
    for i, j in itertools.product(range(rings), range(2 * rings)):
        a, b, c, d = (
            points[i, j],
            points[i + 1, j],
            points[i + 1, (j + 1) % (2 * rings)],
            points[i, (j + 1) % (2 * rings)],
        )
        triangles += [(a, b, c)] if i < rings - 1 else []  # the last ring ends in the pole
        triangles += [(a, c, d)] if i else []
    return np.array(triangles)


@pytest.mark.parametrize("text", [False, True], ids=["binary", "ascii"])
@pytest.mark.parametrize("inverted", [False, True], ids=["outwards", "inwards"])
def test_the_mesh_of_a_box_has_the_inertia_of_the_box(tmp_path, text, inverted):
    size = SOLIDS["box"]
    triangles = (box_triangles(size) + np.array([0.5, 0.25, -0.125])) * 1000  # in mm
    write_stl(tmp_path / "box.stl", triangles[:, ::-1] if inverted else triangles, text)
    mesh = Shape("mesh", (0.001,) * 3, HERE, "box.stl").inertia(2700, folder=tmp_path)
    box = Shape("box", size, HERE @ Placement(translation=(0.5, 0.25, -0.125))).inertia(2700)
    np.testing.assert_allclose(values(mesh), values(box), rtol=1e-12 if text else 1e-6, atol=1e-12 if text else 1e-7)


def test_fine_meshes_of_a_ball_approach_the_ball(tmp_path):
    ball = values(Shape("sphere", (0.12,)).inertia(1000))
    errors = []
    for rings in (10, 20):
        write_stl(tmp_path / "ball.stl", ball_triangles(0.12, rings), text=True)
        mesh = Shape("mesh", (1, 1, 1), file=str(tmp_path / "ball.stl")).inertia(1000)
        errors.append(np.abs(values(mesh) - ball).max() / ball[0])
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1) and errors[1] < 0.011  # of second order


def test_meshes_that_enclose_nothing_are_one_sentence(tmp_path):
    triangles = box_triangles(SOLIDS["box"])
    cases = {
        "open": (triangles[:-1], (1, 1, 1), r"not closed \(3 edges are not shared by two triangles\); repair"),
        "uneven": (np.concatenate([triangles[:6], triangles[6:, ::-1]]), (1, 1, 1), "some of its triangles face inwards"),
        "mm": (triangles * 1000, (1, 1, 1), r"is 400 m long, which looks like millimetres; load it with the scale 0\.001 0\.001"),
    }  # fmt: skip
    for name, (body, scale, message) in cases.items():
        path = write_stl(tmp_path / f"{name}.stl", body)
        with pytest.raises(RobotError, match=message):
            Shape("mesh", scale, file=str(path)).inertia(1000)
    (tmp_path / "noise.stl").write_bytes(bytes(range(256)) * 4)
    for file, message in {
        "noise.stl": "noise.stl: ",
        "none.stl": "none.stl: there is no such file",
        "body.step": r"'\.step' is not a supported mesh format \(\.stl, .* convert it to \.stl",
        "package://arm/none.stl": "'package://arm/none.stl' was not found",
    }.items():
        with pytest.raises(RobotError, match=message):
            Shape("mesh", (1, 1, 1), file=file).inertia(1000, folder=tmp_path)


# -- in files --------------------------------------------------------------------------------------

TUBE = '{ cylinder = ["40 mm", 0.5], wall = "3 mm", density = "aluminium", xyz = [-0.25, 0, 0], rpy = [0, "pi/2", 0] }'
MOTOR = "{ box = [0.1, 0.1, 0.1], mass = 2.5, xyz = [-0.5, 0, 0] }"


def expected_link() -> Inertia:
    along = Placement.rpy(0.0, math.pi / 2, 0.0, (-0.25, 0.0, 0.0))
    tube = Shape("cylinder", (0.04, 0.5), along).inertia(2700, wall=0.003)
    return tube + Shape("box", (0.1, 0.1, 0.1), Placement(translation=(-0.5, 0.0, 0.0))).inertia(mass=2.5)


def test_links_of_files_and_rows_are_the_sum_of_their_shapes():
    dh = parse_toml(f'convention = "standard"\n[[joint]]\na = 0.5\nshapes = [{TUBE}, {MOTOR}]\n')
    frames = parse_toml(
        f'convention = "frames"\n[[link]]\nname = "base"\n[[link]]\nname = "arm"\nshapes = [{TUBE}, {MOTOR}]\n'
        '[[joint]]\nname = "j"\ntype = "revolute"\nparent = "base"\nchild = "arm"\n'
    )
    tube = {"cylinder": [0.04, 0.5], "wall": 0.003, "density": 2700, "xyz": (-0.25, 0, 0), "rpy": (0, "pi/2", 0)}
    row = {"a": 0.5, "shapes": [tube, {"box": (0.1, 0.1, 0.1), "mass": 2.5, "xyz": (-0.5, 0, 0)}]}
    for robot in (dh, frames, da.from_dh([row]).robot):
        np.testing.assert_allclose(values(robot.links[1].inertia), values(expected_link()), rtol=1e-14, atol=1e-16)
        assert [shape.kind for shape in robot.links[1].visuals] == ["cylinder", "box"]
    payload = parse_toml(
        'convention = "standard"\n[payload]\nshapes = { sphere = 0.1, mass = 2 }\n[[joint]]\na = 1.0\n'
    ).payload
    assert payload.mass == 2.0 and payload.tensor[0][0] == pytest.approx(0.4 * 2 * 0.1**2)


def test_a_mesh_of_a_file_lies_beside_it(tmp_path):
    (tmp_path / "meshes").mkdir()
    write_stl(tmp_path / "meshes" / "box.stl", box_triangles(SOLIDS["box"]))
    text = 'convention = "standard"\n[[joint]]\na = 0.5\nshapes = { mesh = "meshes/box.stl", density = 2700 }\n'
    (tmp_path / "arm.toml").write_text(text)
    assert da.load(tmp_path / "arm.toml").robot.mass == pytest.approx(27.0, rel=1e-6)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ("{ box = [1, 1, 1] }", r"joint 1, shape 1: a box needs either a density, such as 2700 \(kg/m³\) or 'aluminium', or a mass"),
        ("{ box = [1, 1], density = 1000 }", r"'box' is \[1, 1\]; it must be a list of 3 numbers: x, y, z"),
        ("{ box = [1, 1, 1], sphere = 1, mass = 1 }", "exactly one of the keys box, cylinder, .* is required, but 2 of them are given"),
        ("{ sphere = 0.1, density = 2.7 }", r"the density is 2.7 kg/m³, which looks like g/cm³; write 2700 if it is"),
        ("{ sphere = 0.1, density = 'aluminum foil' }", "the density is 'aluminum foil'; .* did you mean 'aluminum'"),
        ("{ sphere = -0.1, density = 1000 }", "the radius of a sphere is -0.1; it must be more than 0"),
        ("{ cylinder = [0.1, 1], wall = 0.2, density = 1000 }", "the wall of a cylinder is 0.2 m; it must be above 0 and at most 0.1 m"),
        ("{ sphere = 0.1, density = 1000, mass = 1 }", "needs either a density or a mass, but both are given"),
        ("{ sphere = 0.1, mass = 1 }\nmass = 3", "both 'mass' and 'shapes' are given"),
    ],
)  # fmt: skip
def test_shapes_that_cannot_be_meant_are_one_sentence(shapes, message):
    with pytest.raises(RobotError, match=message):
        parse_toml(f'convention = "standard"\n[[joint]]\na = 0.5\nshapes = {shapes}\n')


def test_a_density_fills_links_without_a_mass_and_no_others():
    robot = da.load("planar-2r").robot
    base, first, last = robot.links
    ball, box = Shape("sphere", (0.1,), HERE), Shape("box", (1.0, 0.1, 0.1))
    bare = replace(last, inertia=Inertia(), collisions=(ball, box), visuals=(box,))
    filled = with_density(robot.replace(links=(base, replace(first, visuals=(box,)), bare)), "steel")
    assert filled.links[1].inertia == first.inertia and filled.links[0].inertia.is_zero
    np.testing.assert_allclose(values(filled.links[2].inertia), values(ball.inertia(7850) + box.inertia(7850)))
    assert filled.notes[-1].startswith(
        "links without a mass in the file take the inertia of their shapes at 7850 kg/m³: 'link2' "
    )
    assert "was not used: every link that has shapes also has a mass" in with_density(robot, 1000).notes[-1]


def test_materials_have_densities_of_solids():
    assert all(
        density_of(name) == density_of(name.upper()) == value and 500 < value < 9000
        for name, value in MATERIALS.items()
    )
    assert density_of("2.7 g/cm^3") == density_of("2700 kg/m3") == 2700


URDF = """<robot name="r"><link name="base"/>
<link name="upper"><inertial><mass value="3"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
  <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
<link name="fore"><visual><geometry><sphere radius="1"/></geometry></visual>
  <collision><origin xyz="0.25 0 0" rpy="0 1.5 0"/><geometry><cylinder radius="0.05" length="0.5"/></geometry></collision>
  <collision><geometry><mesh filename="package://arm_description/meshes/box.stl" scale="0.001 0.001 0.001"/></geometry></collision></link>
<joint name="j1" type="continuous"><parent link="base"/><child link="upper"/></joint>
<joint name="j2" type="continuous"><parent link="upper"/><child link="fore"/></joint></robot>"""


def test_a_density_fills_the_links_of_a_urdf_file(tmp_path):
    package = tmp_path / "arm_description"
    for folder in ("urdf", "meshes"):
        (package / folder).mkdir(parents=True)
    (package / "urdf" / "arm.urdf").write_text(URDF)
    write_stl(package / "meshes" / "box.stl", box_triangles(SOLIDS["box"]) * 1000, text=True)
    filled = da.load(package / "urdf" / "arm.urdf", density="aluminium").robot
    tube = Shape("cylinder", (0.05, 0.5), Placement.rpy(0.0, 1.5, 0.0, (0.25, 0.0, 0.0))).inertia(2700)
    whole = tube + Shape("box", SOLIDS["box"]).inertia(2700)
    np.testing.assert_allclose(values(filled.link("fore").inertia), values(whole), rtol=1e-9, atol=1e-12)
    assert filled.link("upper").inertia.mass == 3.0 and filled.link("base").inertia.is_zero
    assert "'fore' 37.6 kg (2 collision shapes)" in filled.notes[-1]
    (package / "meshes" / "box.stl").unlink()
    with pytest.raises(RobotError, match=r"arm\.urdf: link 'fore': the mesh 'package://.*box\.stl' was not found"):
        da.load(package / "urdf" / "arm.urdf", density="aluminium")


def test_an_arm_of_shapes_survives_a_file(tmp_path):
    arm = da.from_dh([{"a": 0.5, "shapes": {"capsule": ("50 mm", 0.4), "density": "steel", "xyz": (-0.2, 0, 0)}}])
    arm.save(tmp_path / "arm.toml")
    assert da.load(tmp_path / "arm.toml").robot == arm.robot


def test_the_ten_parameters_are_those_of_the_body() -> None:
    body = Inertia(1.5, (0.1, -0.2, 0.3), ((0.03, 0.001, 0.002), (0.001, 0.04, 0.003), (0.002, 0.003, 0.05)))
    assert np.allclose(values(from_ten_parameters(ten_parameters(body))), values(body), rtol=1e-14, atol=1e-16)
    masses, points = np.array([0.5, 2.0]), np.array([[0.1, -0.2, 0.3], [-0.4, 0.0, 0.7]])
    expected = [ten_parameters(Inertia(m, tuple(c))) for m, c in zip(masses.tolist(), points.tolist(), strict=True)]
    assert np.allclose(point_masses(masses, points), expected, rtol=1e-14, atol=1e-16)
