// Loads a WebAssembly module that dalembert wrote. In a page or in Node:
//
//     import { load } from "./panda_inverse_dynamics.mjs";
//     const arm = await load(bytes);                        // an ArrayBuffer, a typed array or a WebAssembly.Module
//     const tau = arm.inverse_dynamics(q, qd, qdd);         // arrays of n numbers, or of count times n, row by row
//
// Without copies, in the module's memory:
//
//     const rows = arm.inverse_dynamics.rows(1000);         // room for 1,000 states
//     rows.q.set(...); rows.qd.set(...); rows.qdd.set(...);
//     rows.run();                                           // all of them, or run(count); results are in rows.tau
//
// arm.exports.inverse_dynamics(q, qd, qdd, tau, count) is the function itself, which takes byte offsets in arm.memory.
// The first arm.exports.reserved.value bytes of the memory belong to the module. Several modules may share a memory:
// load(bytes, other.memory). Without its last line this file is a plain script. It belongs to you, as the module does.
"use strict";

async function load(source, memory = new WebAssembly.Memory({ initial: 1 })) {
  const module = source instanceof WebAssembly.Module ? source : await WebAssembly.compile(source);
  const [section] = WebAssembly.Module.customSections(module, "dalembert");
  const about = JSON.parse(new TextDecoder().decode(section));
  const { exports } = await instantiated(module, memory, about.pages);
  const Numbers = about.scalar === "float" ? Float32Array : Float64Array;
  const arm = { about, exports, memory };
  for (const [name, { inputs, outputs }] of Object.entries(about.functions)) {
    const rows = (count) => placed(memory, Numbers, [...inputs, ...outputs], count, exports[name]);
    let room;
    const call = (...given) => {
      if (given.length !== inputs.length)
        throw new TypeError(`${name} takes ${inputs.map(([array]) => array).join(", ")}; ${given.length} arrays were given`);
      const lead = inputs.findIndex(([, size]) => size);
      const count = lead < 0 ? 1 : given[lead].length / inputs[lead][1];
      inputs.forEach(([array, size], k) => {
        if (!Number.isInteger(count) || given[k].length !== count * size)
          throw new RangeError(`${name}: ${array} has ${given[k].length} numbers; each array holds whole rows, ${array} ${size} to a row, and all hold equally many`);
      });
      if (!room || room.count < count) room = rows(count);
      inputs.forEach(([array], k) => room[array].set(given[k]));
      room.run(count);
      const results = outputs.map(([array, size]) => room[array].slice(0, count * size));
      return results.length === 1 ? results[0] : Object.fromEntries(outputs.map(([array], k) => [array, results[k]]));
    };
    arm[name] = Object.assign(call, { rows });
  }
  return arm;
}

async function instantiated(module, memory, pages) {
  const missing = pages - memory.buffer.byteLength / 65536;
  if (missing > 0) memory.grow(missing);
  if (!memory.used || memory.used < 65536 * pages) memory.used = 65536 * pages;
  return WebAssembly.instantiate(module, { env: { memory } });
}

// room for the rows of so many states; a view is made when it is asked for, since a memory that grows drops the old ones
function placed(memory, Numbers, arrays, count, run) {
  const offsets = [];
  const room = { count, run: (some = count) => run(...offsets, Math.min(some, count)) };
  for (const [array, size] of arrays) {
    const at = memory.used;
    offsets.push(at);
    memory.used += Math.ceil((Numbers.BYTES_PER_ELEMENT * size * count) / 16) * 16;
    Object.defineProperty(room, array, { enumerable: true, get: () => new Numbers(memory.buffer, at, size * count) });
  }
  const missing = Math.ceil((memory.used - memory.buffer.byteLength) / 65536);
  if (missing > 0) memory.grow(missing);
  return room;
}

export { load };
