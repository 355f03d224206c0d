// Byte planes: a column of n values of w bytes is stored as all lowest bytes, then all second bytes, and so on. Equal high
// bytes then stand side by side, which deflate likes.

export function readU8(bytes: Uint8Array, at: number, count: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes.subarray(at, at + count));
}

export function readU16(bytes: Uint8Array, at: number, count: number): Uint16Array<ArrayBuffer> {
  const values = new Uint16Array(count);
  const high = at + count;
  for (let i = 0; i < count; i++) values[i] = bytes[at + i]! | (bytes[high + i]! << 8);
  return values;
}

export function readU32(bytes: Uint8Array, at: number, count: number): Uint32Array<ArrayBuffer> {
  const values = new Uint32Array(count);
  const [b, c, d] = [at + count, at + 2 * count, at + 3 * count];
  for (let i = 0; i < count; i++) {
    // A store into a Uint32Array takes the number modulo 2^32, so the sign of `<< 24` does not matter.
    values[i] =
      bytes[at + i]! | (bytes[b + i]! << 8) | (bytes[c + i]! << 16) | (bytes[d + i]! << 24);
  }
  return values;
}

/** Values above 2^53 lose their lowest bits; sizes of copies are far smaller. */
export function readU64(bytes: Uint8Array, at: number, count: number): Float64Array<ArrayBuffer> {
  const low = readU32(bytes, at, count);
  const high = readU32(bytes, at + 4 * count, count);
  const values = new Float64Array(count);
  for (let i = 0; i < count; i++) values[i] = high[i]! * 4294967296 + low[i]!;
  return values;
}
