// Raw deflate, by the browser's own decoder. It gives up as soon as the data is longer than announced, so that a damaged or
// hostile block cannot fill the memory.

export async function inflate(
  bytes: Uint8Array<ArrayBuffer>,
  expected: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new DecompressionStream("deflate-raw");
  const writer = stream.writable.getWriter();
  // Errors reach us through the readable side; here they would only be reported a second time.
  writer.write(bytes).catch(() => {});
  writer.close().catch(() => {});
  const out = new Uint8Array(expected);
  const reader = stream.readable.getReader();
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read().catch(refuse);
    if (done) break;
    if (length + value.length > expected) {
      await reader.cancel();
      throw new Error(`holds more than the ${expected} bytes that its lane says`);
    }
    out.set(value, length);
    length += value.length;
  }
  if (length !== expected) throw new Error(`holds ${length} bytes instead of ${expected}`);
  return out;
}

// What decoders say of damage differs, and some say nothing.
function refuse(): never {
  throw new Error("its deflate data is damaged or cut off");
}
