// Moments of rigid bodies: m, m c and the tensor about the frame's origin (xx, xy, xz, yy, yz, zz), S (7.77).

/** a + s b @param {number[]} a @param {number[]} b @param {number} s */
export function addMoments(a, b, s) {
  return a.map((x, k) => x + s * b[k]);
}

/** The moments of a point mass. @param {number} mass @param {number[]} at */
export function steinerMoments(mass, [x, y, z]) {
  const products = [y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y];
  return [mass, mass * x, mass * y, mass * z, ...products.map((p) => mass * p)];
}

/** A body with a new mass and centre of mass; its tensor about the centre of mass scales with the mass. @param {number[]} body @param {number} mass @param {number[]} com */
export function movedMoments(body, mass, com) {
  const before = body[0];
  const centre = before ? body.slice(1, 4).map((x) => x / before) : [0, 0, 0];
  const about = addMoments(body, steinerMoments(before, centre), -1);
  const scale = before ? mass / before : 1;
  return steinerMoments(mass, com).map((x, k) => (k < 4 ? x : x + scale * about[k]));
}
