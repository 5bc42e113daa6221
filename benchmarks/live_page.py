"""The live page: its size, the time to write it, and its loading and response times in Chromium.

A page is written twice, each time by a new process, without and with a kernel cache; importing dalembert is not counted.
Chromium is Debian's, headless and without a GPU: the arm in 3D is rendered in software by SwiftShader. Loading is measured from
the navigation to a file, in a new context each time, until the first contentful paint and until all panels are ready and torques
are shown. The response to a slider is measured until the frame with the changed torques has been drawn; up to 17 ms of this pass
until the browser begins a frame, so the time of the page itself is listed separately. Memory is that of JavaScript, its buffers
and WebAssembly after every tab has been opened and a hundred states have been shown. Calls of inverse dynamics go through
`window.dalembert.inverse_dynamics`, one state each; rows are 1,000 states in one call. Figures are medians; for calls, minima.

    python benchmarks/live_page.py [--write] [ARM...]

--write writes benchmarks/live_page.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import dalembert as da
from page import machine
from sidebyside import table

HERE = Path(__file__).resolve().parent
OPENINGS, MOVES = 9, 50
GOALS = "Goals: 300 kB for planar-2r and 600 kB for panda, first paint in 1 s, torques redrawn in 16 ms, 64 MB."
WRITE = """
import sys, time, dalembert as da
arm = da.load(sys.argv[1])
start = time.perf_counter()
da.write_page(sys.argv[2], arm, overwrite=True)
print(time.perf_counter() - start)
"""
READY = """
new MutationObserver((_, watching) => {
  if (document.getElementById("page")?.ariaBusy !== "false") return;
  watching.disconnect();
  window.readyAfter = performance.now();
}).observe(document, { subtree: true, childList: true, attributes: true });
window.memories = [];
WebAssembly.Memory = class extends WebAssembly.Memory {
  constructor(size) { super(size); window.memories.push(this); }
};
"""
OPENED = "() => [performance.getEntriesByName('first-contentful-paint')[0].startTime, window.readyAfter]"
MOVED = """async (moves) => {
  const slider = (what) => document.querySelector(`input[type=range][aria-label^="${what} of"]`);
  const sliders = [slider("Position"), slider("Acceleration")]; // some torques depend on no position
  const torques = () => Array.from(document.querySelectorAll(".bar .value"), (each) => each.textContent).join();
  const frame = () => new Promise(requestAnimationFrame);
  const drawn = () => new Promise((done) => { const way = new MessageChannel(); way.port1.onmessage = done; way.port2.postMessage(0); });
  const [answers, own] = [[], []];
  for (let k = 0; k < moves; k++) {
    await new Promise((done) => setTimeout(done, 100 + 16 * Math.random()));
    const before = torques();
    const start = performance.now();
    for (const each of sliders) {
      each.value = +each.min + (each.max - each.min) * (0.3 + (0.4 * (k + 0.5)) / moves);
      each.dispatchEvent(new Event("input", { bubbles: true }));
    }
    for (let frames = 0; torques() === before && frames < 100; frames++) await frame();
    await drawn();
    answers.push(performance.now() - start);
    const again = performance.now();
    window.dalembert.app.tell();
    own.push(performance.now() - again);
  }
  return [answers, own];
}"""
CALLS = """(n) => {
  const { inverse_dynamics: call, robot } = window.dalembert;
  const one = Array(n).fill(0.1), many = new Float64Array(1000 * n).fill(0.1);
  const least = (f, times, count) => {
    let best = Infinity;
    for (let round = 0; round < 20; round++) {
      const start = performance.now();
      for (let k = 0; k < times; k++) f();
      best = Math.min(best, (performance.now() - start) / times / count);
    }
    return 1e6 * best;
  };
  return [least(() => call(one, one, one), 5000, 1), least(() => robot.inverseDynamics(many, many, many), 20, 1000)];
}"""
USED = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  for (const tab of document.querySelectorAll("[role=tab]")) { tab.click(); await frame(); await frame(); }
  const { app, robot } = window.dalembert;
  for (let k = 0; k < 100; k++) { app.change({ q: Array.from({ length: robot.n }, () => Math.random()) }); await frame(); }
}"""


def written(name: str, path: Path, cache: Path) -> float:
    """Seconds in which a new process writes a page."""
    environment = {**os.environ, "DALEMBERT_CACHE": str(cache)}
    command = [sys.executable, "-c", WRITE, name, str(path)]
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def memory(page: Any) -> float:
    """Memory of the page in MB."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("HeapProfiler.collectGarbage")
    usage = devtools.send("Runtime.getHeapUsage")
    wasm = page.evaluate("() => window.memories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0)")
    return float(usage["usedSize"] + usage["embedderHeapUsedSize"] + usage["backingStorageSize"] + wasm) / 1e6


def browsed(browser: Any, path: Path, n: int) -> dict[str, float]:
    """Milliseconds, nanoseconds and megabytes of a page."""
    openings = []
    for _ in range(OPENINGS):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.add_init_script(READY)
        page.goto(path.as_uri())
        page.wait_for_function("window.readyAfter !== undefined")
        openings.append(page.evaluate(OPENED))
        if len(openings) < OPENINGS:
            context.close()
    paint, ready = map(statistics.median, zip(*openings, strict=True))
    answer, own = map(statistics.median, page.evaluate(MOVED, MOVES))
    call, row = page.evaluate(CALLS, n)
    page.evaluate(USED)
    result = {"paint": paint, "ready": ready, "answer": answer, "own": own, "call": call, "row": row}
    result["memory"] = memory(page)
    context.close()
    return result


def main(arguments: list[str]) -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arms", nargs="*")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args(arguments)
    head = (
        *("arm", "joints", "kB", "written, s", "again, s", "first paint, ms", "ready, ms", "slider to torques, ms"),
        *("of which page, ms", "memory, MB", "call, ns", "in rows, ns"),
    )
    rows, host = [], machine()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as temporary:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--enable-unsafe-swiftshader"]
        )
        version = browser.version
        for name in given.arms or da.arms():
            path, cache = Path(temporary) / f"{name}.html", Path(temporary) / f"cache-{name}"
            cold, warm = written(name, path, cache), written(name, path, cache)
            n = da.load(name).n
            found = browsed(browser, path, n)
            rows.append((
                name, str(n), f"{path.stat().st_size / 1e3:.0f}", f"{cold:.1f}", f"{warm:.2f}", f"{found['paint']:.0f}",
                f"{found['ready']:.0f}", f"{found['answer']:.1f}", f"{found['own']:.1f}", f"{found['memory']:.1f}",
                f"{found['call']:.0f}", f"{found['row']:.0f}",
            ))  # fmt: skip
            print(*rows[-1], sep="  ", flush=True)
        browser.close()
    table("live pages", rows, head)
    if given.write:
        about = (__doc__ or "").split("\n\n")
        made = f"Chromium {version}, Python {host['python']}, {host['cpu']}, {host['cores']} cores, {host['load_before'][0]:.1f} other programs running. {GOALS} Written by `benchmarks/live_page.py --write`."
        lines = [f"# {about[0]}", "", about[1], "", made, ""]
        lines += ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
        lines += ["| " + " | ".join(row) + " |" for row in rows]
        (HERE / "live_page.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
