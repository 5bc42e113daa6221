"""The arm in 3D: drawn in WebGL2 and in SVG, seen from where one likes, and held at its tip."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from compilers import compiler

JS = Path(__file__).parents[3] / "src/dalembert/views/web/js"
ARMS = ["panda", "planar-2r", "parallelogram", "stanford"]
PIXELS = """() => {
  const { stage } = window.dalembert.app;
  stage.drawNow();
  const { gl } = stage.view;
  const bytes = new Uint8Array(4 * gl.drawingBufferWidth * gl.drawingBufferHeight);
  gl.readPixels(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
  let text = '';
  for (let k = 0; k < bytes.length; k += 8192) text += String.fromCharCode(...bytes.subarray(k, k + 8192));
  return { width: gl.drawingBufferWidth, bytes: btoa(text) };
}"""
CAMERA = """() => {
  const { azimuth, elevation, distance, target } = window.dalembert.app.stage.camera;
  return { azimuth, elevation, distance, target };
}"""
MOVE = """(q) => {
  window.dalembert.app.change({ q });
  window.dalembert.app.tell();
}"""
RECORD = """() => {
  window.drags = [];
  window.dalembert.app.stage.drag = {
    start: (point) => window.drags.push(["start", ...point]),
    move: (point) => window.drags.push(["move", ...point]),
    end: () => window.drags.push(["end"]),
  };
  window.dalembert.app.stage.drawNow();
}"""
TIP = "() => [3, 7, 11].map((k) => window.dalembert.robot.pose(window.dalembert.app.state.q)[k])"


def picture(page: Any) -> np.ndarray[Any, Any]:
    read = page.evaluate(PIXELS)
    return np.frombuffer(base64.b64decode(read["bytes"]), np.uint8).reshape(-1, read["width"], 4)


def solid(image: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Where something opaque is drawn."""
    return image[..., 3] > 250


def bent(page: Any, by: float) -> list[float]:
    q = page.evaluate("() => Array.from(window.dalembert.app.state.q)")
    return [x + by * (k < 2) for k, x in enumerate(q)]


def node(code: str) -> Any:
    done = subprocess.run(
        [compiler("node"), "--input-type=module"], input=code, capture_output=True, text=True, cwd=JS, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ARMS)
def test_webgl_draws_the_arm_where_it_is(name: str, page_of: Callable[..., Any]) -> None:
    page = page_of(name)
    before = solid(picture(page))
    assert 0.01 < before.mean() < 0.6
    assert np.ptp(np.nonzero(before)[0]) > 0.3 * before.shape[0]  # it fills the stage
    page.evaluate(MOVE, bent(page, 0.3))
    after = solid(picture(page))
    assert (before != after).mean() > 0.005
    x, y = page.evaluate(
        f"() => {{ const p = window.dalembert.app.stage.camera.project(({TIP})()); return [p.x, p.y] }}"
    )
    assert after[after.shape[0] - 1 - round(y), round(x)]  # WebGL counts rows from below


def test_without_webgl2_the_page_says_so_and_works(browser: Any, written: Callable[..., Path]) -> None:
    context = browser.new_context()
    context.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(written("planar-2r").as_uri())
    page.wait_for_selector("#page[aria-busy=false]")
    assert "WebGL2" in page.inner_text(".left .notice")
    for tab in page.get_by_role("tab").all():
        tab.click()
        page.wait_for_timeout(50)
    page.evaluate("() => window.dalembert.app.change({ q: [0.1, 0.2] })")
    page.wait_for_timeout(50)
    assert not problems and page.evaluate("() => window.dalembert.inverse_dynamics().length") == 2
    context.close()


def test_mouse_wheel_and_keys_steer_the_camera(page_of: Callable[..., Any]) -> None:
    page = page_of("panda")
    view = page.locator(".stage-view")
    box = view.bounding_box()
    x, y = box["x"] + 40, box["y"] + box["height"] - 40

    def after(action: Callable[[], Any]) -> tuple[Any, Any]:
        before = page.evaluate(CAMERA)
        action()
        page.wait_for_timeout(40)
        return before, page.evaluate(CAMERA)

    def dragged(*keys: str) -> None:
        for key in keys:
            page.keyboard.down(key)
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 60, y - 30, steps=4)
        page.mouse.up()
        for key in keys:
            page.keyboard.up(key)

    old, new = after(dragged)
    assert new["azimuth"] < old["azimuth"] and new["elevation"] < old["elevation"] and new["target"] == old["target"]
    old, new = after(lambda: dragged("Shift"))
    assert new["azimuth"] == old["azimuth"] and new["target"] != old["target"]
    old, new = after(lambda: page.mouse.wheel(0, -240))
    assert new["distance"] < 0.95 * old["distance"]
    view.focus()
    for key, what in (("ArrowLeft", "azimuth"), ("ArrowUp", "elevation"), ("+", "distance"), ("-", "distance")):
        old, new = after(lambda key=key: page.keyboard.press(key))
        assert new[what] != old[what], key
    old, new = after(lambda: page.keyboard.press("Shift+ArrowLeft"))
    assert new["target"] != old["target"]
    page.keyboard.press("Home")
    home = page.evaluate(CAMERA)
    page.get_by_role("button", name="Zoom in").click()
    assert page.evaluate(CAMERA)["distance"] < home["distance"]
    page.get_by_role("button", name="Reset the view").click()
    assert page.evaluate(CAMERA) == home


def test_fingers_steer_the_camera(page_of: Callable[..., Any]) -> None:
    """One orbits; two pinch and pan."""
    page = page_of("panda", viewport={"width": 390, "height": 800}, has_touch=True)
    box = page.locator(".stage-view").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] - 60
    session = page.context.new_cdp_session(page)

    def touch(*steps: list[tuple[float, float]]) -> None:
        for kind, points in zip(["touchStart", *["touchMove"] * (len(steps) - 1)], steps, strict=True):
            places = [{"x": x + a, "y": y + b, "id": k} for k, (a, b) in enumerate(points)]
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    start = page.evaluate(CAMERA)
    touch([(0, 0)], [(30, 5)], [(60, 10)])
    turned = page.evaluate(CAMERA)
    assert turned["azimuth"] != start["azimuth"] and turned["distance"] == start["distance"]
    touch([(-30, 0), (30, 0)], [(-45, 0), (45, 0)], [(-70, 10), (70, 10)])
    pinched = page.evaluate(CAMERA)
    assert pinched["distance"] < 0.8 * turned["distance"] and pinched["azimuth"] == turned["azimuth"]
    assert pinched["target"] != turned["target"]


def test_layers_are_switched_by_their_boxes(page_of: Callable[..., Any]) -> None:
    page = page_of("panda")
    shown = picture(page)
    page.get_by_text("Show", exact=True).click()
    boxes = page.locator(".stage-boxes label")
    assert {"Arm", "Tip frame", "Ground", "Joint axes", "Link frames", "Centres of mass", "Inertia ellipsoids"} <= set(
        boxes.all_inner_texts()
    )
    for name in ("Arm", "Ground", "Tip frame"):
        page.get_by_label(name, exact=True).uncheck()
    assert not picture(page)[..., 3].any()
    page.get_by_label("Arm", exact=True).check()
    assert solid(picture(page)).sum() > 0.5 * solid(shown).sum()
    for name in ("Joint axes", "Link frames", "Centres of mass", "Inertia ellipsoids"):
        before = picture(page)
        page.get_by_label(name, exact=True).check()
        assert (picture(page) != before).any(axis=2).mean() > 0.002, name
    assert page.locator(".stage-labels span").all_inner_texts() == [str(k) for k in range(1, 8)]
    page.evaluate("() => window.dalembert.app.stage.setShown('axes', false)")
    assert not page.get_by_label("Joint axes", exact=True).is_checked()


def test_dragging_the_handle_moves_the_tip_in_the_plane_of_the_screen(page_of: Callable[..., Any]) -> None:
    page = page_of("panda")
    page.evaluate(RECORD)
    box = page.locator(".stage-handle").bounding_box()
    x, y = box["x"] + box["width"] / 2 + 4, box["y"] + box["height"] / 2 - 3
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 50, y + 20, steps=3)
    page.mouse.up()
    drags = page.evaluate("() => window.drags")
    assert [kind for kind, *_ in drags] == ["start", "move", "move", "move", "end"]
    tip, target = np.array(drags[0][1:]), np.array(drags[3][1:])
    assert np.allclose(tip, page.evaluate(TIP), atol=1e-9)
    seen = "(p) => { const s = window.dalembert.app.stage.camera.project(p); return [s.x, s.y, s.depth]; }"
    first, last = (np.array(page.evaluate(seen, point.tolist())) for point in (tip, target))
    assert np.allclose(last - first, (-50, 20, 0), atol=0.01)
    page.locator(".stage-handle").focus()
    page.keyboard.press("ArrowRight")
    moved = page.evaluate("() => window.drags.slice(-3)")
    assert [kind for kind, *_ in moved] == ["start", "move", "end"]
    assert np.linalg.norm(np.array(moved[1][1:]) - tip) > 1e-3


def test_a_lost_context_comes_back(page_of: Callable[..., Any]) -> None:
    page = page_of("planar-2r")
    before = solid(picture(page)).mean()
    page.evaluate(
        "() => { window.losing = window.dalembert.app.stage.view.gl.getExtension('WEBGL_lose_context'); losing.loseContext(); }"
    )
    page.wait_for_timeout(100)
    page.evaluate(MOVE, [0.1, 0.2])
    page.wait_for_timeout(100)
    page.evaluate("() => losing.restoreContext()")
    page.wait_for_timeout(200)
    assert solid(picture(page)).mean() > 0.4 * before


@pytest.mark.parametrize(("name", "up"), [("panda", [0, 0, 1]), ("planar-2r", [0, 1, 0]), ("scara", [0, 0, 1])])
def test_up_is_against_gravity(name: str, up: list[float], page_of: Callable[..., Any]) -> None:
    page = page_of(name)
    above = page.evaluate("() => window.dalembert.app.stage.camera.axes().above")
    assert np.dot(above, up) > 0.85
    assert page.evaluate("() => window.dalembert.app.stage.fit.up") == pytest.approx(up)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_scheme(scheme: Any, page_of: Callable[..., Any]) -> None:
    page = page_of("planar-2r", color_scheme=scheme)
    rgba = page.evaluate("() => window.dalembert.app.stage.colours.rgba('--link')")
    assert (sum(rgba[:3]) / 3 > 0.65) == (scheme == "light")
    page.emulate_media(color_scheme="dark" if scheme == "light" else "light")
    page.wait_for_timeout(60)
    assert page.evaluate("() => window.dalembert.app.stage.colours.rgba('--link')") != rgba


def test_shapes_and_meshes_of_a_file_are_drawn(tmp_path: Path, page_of: Callable[..., Any]) -> None:
    from test_shapes import ball, obj, write

    pytest.importorskip("trimesh")
    (tmp_path / "ball.obj").write_text(obj(*ball(40)))
    place = '<origin xyz="0 0 0.15"/><geometry><mesh filename="ball.obj" scale="0.08 0.08 -0.3"/></geometry>'
    robot = write(tmp_path, f'<visual>{place}<material name="green"><color rgba="0 1 0 1"/></material></visual>')
    page = page_of(da.load(tmp_path / "two.urdf"))
    assert robot.name == page.evaluate("() => window.dalembert.robot.data.name")
    image = picture(page).astype(int)
    green = (image[..., 1] > image[..., 0] + 60) & (image[..., 1] > image[..., 2] + 60)
    red = (image[..., 0] > image[..., 1] + 60) & (image[..., 0] > image[..., 2] + 60)
    assert green.mean() > 0.003 and red.mean() > 0.003


def test_jacobi_eigenvectors_diagonalise() -> None:
    rng = np.random.default_rng(3)
    for n in (2, 3, 6):
        A = rng.normal(size=(n, n))
        A = A + A.T
        given = json.dumps(A.ravel().tolist())
        found = node(
            f'import {{ symmetricEigen }} from "./linear.js"; console.log(JSON.stringify(symmetricEigen({given}, {n})));'
        )
        values, V = np.array(found["values"]), np.array(found["vectors"]).reshape(n, n)
        assert np.allclose(values, np.linalg.eigvalsh(A)[::-1], atol=1e-12)
        assert np.allclose(V @ np.diag(values) @ V.T, A, atol=1e-12) and np.allclose(V.T @ V, np.eye(n), atol=1e-12)


def test_the_inertia_ellipsoid_has_the_inertia_of_the_link() -> None:
    """A uniform ellipsoid with semi-axes a: I = m/5 (|a|² − a aᵀ) about its centre; and none where no body can be."""
    rng = np.random.default_rng(4)
    R, m, c = np.linalg.qr(rng.normal(size=(3, 3)))[0], 3.0, rng.normal(size=3)
    A = R @ np.diag([0.1, 0.4, 0.25])
    about_centre = m / 5 * (np.trace(A @ A.T) * np.eye(3) - A @ A.T)
    tensor = about_centre + m * (c @ c * np.eye(3) - np.outer(c, c))
    ten = [m, *(m * c), *tensor[np.triu_indices(3)], 0, 0, 0]
    flat = [1, 0, 0, 0, 1, 0, 0, 1, 0, 5, 0, 0, 0]  # I_z > I_x + I_y
    code = f"""import {{ bodyMass, inertiaAxes }} from "./arm_masses.js";
    const robot = {{ numbers: {{ parameters: new Float64Array({json.dumps([*ten, *flat])}) }} }};
    const bodies = [0, 1].map((i) => bodyMass(robot, i));
    console.log(JSON.stringify(bodies.map((body) => [body.centre, inertiaAxes(body.mass, body.tensor)])));"""
    (centre, axes), (_, none) = node(code)
    S = np.array(axes).reshape(3, 3)
    assert np.allclose(centre, c) and np.allclose(S @ S.T, A @ A.T, atol=1e-9) and none is None
