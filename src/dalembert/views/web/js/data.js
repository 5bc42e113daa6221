// The data that Python wrote into the page: compressed JSON as text.

/** @param {string} text base64 @returns {Uint8Array<ArrayBuffer>} */
export function bytesOf(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k++) bytes[k] = letters.charCodeAt(k);
  return bytes;
}

/** @param {string} text base64 of compressed JSON @returns {Promise<any>} */
export async function unpacked(text) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}
