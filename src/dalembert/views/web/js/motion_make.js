// Motions created in the page: from one posture to another, and periodic ones within the limits.

/** @import { Joint } from "./robot.js" */
/** @import { MotionData } from "./motion.js" */

/** Time laws from one posture to another: title, and t, s, ṡ, s̈ at the nodes, with s from 0 to 1 in one second. */
export const MOTION_SHAPES =
  /** @type {Record<string, {title: string, nodes: [number, number, number, number][]}>} */ ({
    quintic: {
      title: "Quintic polynomial",
      nodes: [
        [0, 0, 0, 0],
        [1, 1, 0, 0],
      ],
    },
    trapezoidal: {
      title: "Trapezoidal velocity",
      nodes: [
        [0, 0, 0, 16 / 3], // acceleration for a quarter of the time, constant velocity for half, deceleration for a quarter
        [1 / 4, 1 / 6, 4 / 3, 16 / 3],
        [1 / 4, 1 / 6, 4 / 3, 0],
        [3 / 4, 5 / 6, 4 / 3, 0],
        [3 / 4, 5 / 6, 4 / 3, -16 / 3],
        [1, 1, 0, -16 / 3],
      ],
    },
    triangular: {
      title: "Triangular velocity",
      nodes: [
        [0, 0, 0, 4],
        [1 / 2, 1 / 2, 2, 4],
        [1 / 2, 1 / 2, 2, -4],
        [1, 1, 0, -4],
      ],
    },
  });

const FOURIER_NODES = 400;
const FOURIER_HARMONICS = 3;
const FOURIER_ROOM = 0.9; // of the limits

/**
 * A motion from rest to rest. @param {string} name @param {string} shape @param {ArrayLike<number>} from
 * @param {ArrayLike<number>} to @param {number} duration @returns {MotionData}
 */
export function pointToPoint(name, shape, from, to, duration) {
  const { nodes, title } = MOTION_SHAPES[shape];
  const each = (/** @type {(start: number, way: number, node: number[]) => number} */ value) =>
    nodes.flatMap((node) => Array.from(from, (start, j) => value(start, to[j] - start, node)));
  return {
    name,
    note: `${title}, from rest to rest in ${duration} s.`,
    t: nodes.map(([t]) => t * duration),
    q: each((start, way, [t, s]) => (t === 1 ? start + way : start + s * way)),
    qd: each((_, way, [, , speed]) => (speed * way) / duration),
    qdd: each((_, way, [, , , acceleration]) => (acceleration * way) / duration ** 2),
    load: [],
    loads: [],
    events: [],
  };
}

/**
 * One period of a Fourier series around a posture, with separate amplitudes for every joint, within the limits of positions,
 * velocities and accelerations; share scales it down.
 * @param {string} name @param {Joint[]} joints @param {ArrayLike<number>} posture @param {number} duration @param {number} share
 * @returns {MotionData}
 */
export function fourierMotion(name, joints, posture, duration, share) {
  const count = FOURIER_NODES + 1;
  const n = joints.length;
  const t = Array.from({ length: count }, (_, k) => (k * duration) / FOURIER_NODES);
  const [q, qd, qdd] = [0, 1, 2].map(() => new Float64Array(count * n));
  joints.forEach((joint, j) => {
    const { offset, room } = swingRoom(joint, posture[j]);
    const series = t.map((instant) => seriesAt(j, instant, (2 * Math.PI) / duration));
    const largest = (/** @type {number} */ order) =>
      Math.max(...series.map((x) => Math.abs(x[order])), 1e-12);
    const scale =
      share *
      Math.min(
        room / largest(0),
        (FOURIER_ROOM * (joint.velocity ?? Infinity)) / largest(1),
        (FOURIER_ROOM * (joint.acceleration ?? Infinity)) / largest(2),
      );
    series.forEach((x, k) => {
      q[k * n + j] = offset + scale * x[0];
      qd[k * n + j] = scale * x[1];
      qdd[k * n + j] = scale * x[2];
    });
  });
  const note = `A Fourier series of ${FOURIER_HARMONICS} harmonics around the posture at which it was created; the period is ${duration} s.`;
  return { name, note, t, q, qd, qdd, load: [], loads: [], events: [] };
}

/** The centre and the amplitude of a joint's oscillation. @param {Joint} joint @param {number} now */
function swingRoom(joint, now) {
  const free = joint.revolute ? 0.8 : 0.2;
  const { lower, upper } = joint;
  if (lower === null && upper === null) return { offset: now, room: free };
  const [low, high] = [
    lower ?? /** @type {number} */ (upper) - 4 * free,
    upper ?? /** @type {number} */ (lower) + 4 * free,
  ];
  const beside = Math.min(now - low, high - now);
  const offset = beside < 0.2 * (high - low) ? (low + high) / 2 : now;
  return { offset, room: Math.min(free, FOURIER_ROOM * Math.min(offset - low, high - offset)) };
}

/** The series of joint j, and its derivatives. @param {number} j @param {number} t @param {number} omega */
function seriesAt(j, t, omega) {
  const value = [0, 0, 0];
  for (let l = 1; l <= FOURIER_HARMONICS; l++) {
    const [w, phase, amplitude] = [l * omega, 1.3 * j * l + 0.7 * l, 1 / (l + (j % 3) / 2)];
    value[0] += amplitude * Math.sin(w * t + phase);
    value[1] += amplitude * w * Math.cos(w * t + phase);
    value[2] -= amplitude * w * w * Math.sin(w * t + phase);
  }
  return value;
}
