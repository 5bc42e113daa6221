// Times inverse dynamics of one arm in Node: the page's kernels, and MuJoCo's WebAssembly build if it is installed.
// node page_kernels.mjs FOLDER: reads FOLDER/given.json, FOLDER/page.wasm, FOLDER/own.wasm, FOLDER/loader.mjs
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const given = JSON.parse(readFileSync(join(folder, "given.json"), "utf8"));
const { load } = await import(pathToFileURL(join(folder, "loader.mjs")));
const { n, count, rounds, milliseconds, numbers } = given;
const motion = { q: given.q, qd: given.qd, qdd: given.qdd };
const ways = {};
const torques = {};

function filled(call) {
  const rows = call.rows(count);
  for (const [name, values] of Object.entries(motion)) rows[name].set(values);
  for (const [name, values] of Object.entries(numbers))
    if (rows[name]) for (let k = 0; k < count; k++) rows[name].set(values, k * values.length);
  return rows;
}

for (const [title, file] of [
  ["own", "own.wasm"],
  ["page", "page.wasm"],
]) {
  const kernels = await load(readFileSync(join(folder, file)));
  const rows = filled(kernels.inverse_dynamics);
  ways[`${title} rows`] = () => rows.run();
  torques[title] = () => (rows.run(), Array.from(rows.tau));
  if (title === "own") {
    const one = kernels.inverse_dynamics.rows(1);
    const { q, qd, qdd, tau } = one;
    let sum = 0;
    ways["own one by one"] = () => {
      for (let k = 0; k < count; k++) {
        for (let i = 0; i < n; i++) {
          q[i] = motion.q[k * n + i];
          qd[i] = motion.qd[k * n + i];
          qdd[i] = motion.qdd[k * n + i];
        }
        one.run(1);
        sum += tau[0];
      }
      return sum;
    };
  }
}

if (given.mujoco) {
  const { default: loadMujoco } = await import(pathToFileURL(given.mujoco));
  const mujoco = await loadMujoco();
  const model = mujoco.MjModel.from_xml_string(given.urdf);
  const bits = mujoco.mjtDisableBit;
  model.opt.disableflags |= [bits.mjDSBL_CONSTRAINT, bits.mjDSBL_CONTACT, bits.mjDSBL_SENSOR].reduce(
    (sum, bit) => sum | (bit.value ?? bit),
    0,
  );
  const data = new mujoco.MjData(model);
  const { qpos, qvel, qacc, qfrc_inverse: tau } = data;
  ways["mujoco one by one"] = () => {
    for (let k = 0; k < count; k++) {
      for (let i = 0; i < n; i++) {
        qpos[i] = motion.q[k * n + i];
        qvel[i] = motion.qd[k * n + i];
        qacc[i] = motion.qdd[k * n + i];
      }
      mujoco.mj_inverse(model, data);
    }
  };
  torques.mujoco = () => {
    const all = [];
    for (let k = 0; k < count; k++) {
      qpos.set(motion.q.slice(k * n, k * n + n));
      qvel.set(motion.qd.slice(k * n, k * n + n));
      qacc.set(motion.qdd.slice(k * n, k * n + n));
      mujoco.mj_inverse(model, data);
      all.push(...tau);
    }
    return all;
  };
}

// rounds alternate; the first ones warm up the compiler
const times = Object.fromEntries(Object.keys(ways).map((name) => [name, []]));
for (let round = 0; round < rounds; round++) {
  for (const [name, way] of Object.entries(ways)) {
    const start = performance.now();
    let [runs, now] = [0, start];
    do {
      way();
      runs++;
      now = performance.now();
    } while (now - start < milliseconds);
    times[name].push(((now - start) / runs / count) * 1e6);
  }
  await new Promise((resolve) => setTimeout(resolve, 5));
}
const fast = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 10)];
const nanoseconds = Object.fromEntries(
  Object.entries(times).map(([name, all]) => [name, fast(all.slice(all.length >> 1))]),
);
console.log(
  JSON.stringify({
    node: process.version,
    nanoseconds,
    torques: Object.fromEntries(Object.entries(torques).map(([name, of]) => [name, of()])),
  }),
);
