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
      if (!room || room.count < count) room = rows(Math.max(count, room ? 2 * room.count : 0)); // old room is not used again
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
  const reserved = 65536 * pages;
  if (memory.used > memory.reserved && memory.reserved < reserved)
    throw new RangeError(`the module needs the first ${reserved} bytes of the memory, but rows lie in it from ${memory.reserved} on; load all modules that share a memory before any is used`);
  const missing = pages - memory.buffer.byteLength / 65536;
  if (missing > 0) memory.grow(missing);
  memory.reserved = Math.max(reserved, memory.reserved ?? 0);
  memory.used = Math.max(memory.reserved, memory.used ?? 0);
  return WebAssembly.instantiate(module, { env: { memory } });
}

// room for the rows of so many states; a view is made when it is asked for, since a memory that grows drops the old ones
function placed(memory, Numbers, arrays, count, run) {
  if (!Number.isInteger(count) || count < 0) throw new RangeError(`there are no rows of ${count} states; their number is an integer from 0 on`);
  const offsets = [];
  let used = memory.used;
  const room = { count, run: (some = count) => run(...offsets, Math.min(some, count)) };
  for (const [array, size] of arrays) {
    const at = used;
    offsets.push(at);
    used += Math.ceil((Numbers.BYTES_PER_ELEMENT * size * count) / 16) * 16;
    Object.defineProperty(room, array, { enumerable: true, get: () => new Numbers(memory.buffer, at, size * count) });
  }
  const missing = Math.ceil((used - memory.buffer.byteLength) / 65536);
  if (missing > 0) memory.grow(missing); // or an error, and nothing is taken
  memory.used = used;
  return room;
}

export { load };
