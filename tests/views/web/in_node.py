"""The page's modules of JavaScript, run by Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import dalembert
from dalembert import Arm
from dalembert.views.web.bundle import LOADER, encoded
from dalembert.views.web.kernels import page_kernels
from dalembert.views.web.page_model import arm_data, tip_space

JS = Path(dalembert.__file__).parent / "views" / "web" / "js"


def in_node(folder: Path, code: str, given: Any = None) -> Any:
    """``result`` as the code leaves it, which may import the page's modules from "./…"; ``given`` is what it is given."""
    if shutil.which("node") is None:
        pytest.skip("Node is not installed")
    if not (folder / "package.json").exists():
        shutil.copytree(JS, folder, dirs_exist_ok=True)
        (folder / "package.json").write_text('{"type": "module"}')
    (folder / "given.json").write_text(json.dumps(given))
    lines = [
        'import { readFileSync } from "node:fs";',
        'const given = JSON.parse(readFileSync("given.json", "utf8"));',
        "let result;",
        code,
        "const plain = (_, x) => (ArrayBuffer.isView(x) ? Array.from(x) : x === Infinity ? 1e400 : x);",
        "console.log(JSON.stringify(result, plain));",
    ]
    (folder / "test.js").write_text("\n".join(lines))
    done = subprocess.run(["node", "test.js"], cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


ROBOT = """
import { Robot } from "./robot.js";
import { load } from "./loader.js";
const data = JSON.parse(readFileSync("robot.json", "utf8"));
const robot = new Robot(data, await load(Buffer.from(data.kernels, "base64")));
"""


def with_robot(folder: Path, arm: Arm, code: str, given: Any = None) -> Any:
    """The same for code that uses ``robot``, an arm with its kernels."""
    folder = folder / arm.name
    folder.mkdir(exist_ok=True)
    (folder / "loader.js").write_text(LOADER.read_text(encoding="utf-8"))
    (folder / "robot.json").write_text(
        json.dumps({**arm_data(arm), "kernels": encoded(page_kernels(arm, tip_space(arm)))})
    )
    return in_node(folder, ROBOT + code, given)
