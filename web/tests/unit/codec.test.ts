import { expect, test } from "vitest";
import { fromBase64, fromBase64WithAtob } from "../../src/codec/base64.ts";
import { readBlock } from "../../src/codec/block.ts";
import { decode } from "../../src/codec/decode.ts";
import { DecodePool } from "../../src/codec/pool.ts";
import { type ColumnName, NO_LINK } from "../../src/format.ts";
import { ALL_COLUMNS, type PlainEvent, packed, planesOf } from "../../tools/encode.ts";
import { Random } from "./random.ts";

function randomEvents(count: number, random: Random): PlainEvent[] {
  const events: PlainEvent[] = [];
  let now = random.below(1e9);
  for (let i = 0; i < count; i++) {
    const duration =
      random.below(20) === 0 ? 4294967295 + random.below(1e10) : random.below(100000);
    events.push({
      start: now,
      duration,
      name: random.below(65536),
      class: random.below(256),
      link: random.below(10) === 0 ? NO_LINK : random.below(4294967295),
      site: random.below(65536),
      bytes: random.below(Number.MAX_SAFE_INTEGER),
      exposed: random.below(4294967296),
    });
    now += duration + random.below(random.below(50) === 0 ? 1e11 : 5000);
  }
  return events;
}

test("every event comes back as it was", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const events = randomEvents(1 + seed * 37, new Random(seed));
    const back: PlainEvent[] = [];
    for (const { header, bytes } of planesOf(events, ALL_COLUMNS)) {
      const c = await decode({ text: packed(bytes), lane: "x", columns: ALL_COLUMNS, header });
      for (let i = 0; i < header.count; i++)
        back.push({
          start: c.start[i]!,
          duration: c.duration[i]!,
          name: c.name![i]!,
          class: c.class![i]!,
          link: c.link![i]!,
          site: c.site![i]!,
          bytes: c.bytes![i]!,
          exposed: c.exposed![i]!,
        });
    }
    expect(back).toEqual(events);
  }
});

test("a block ends after 65,536 events and before a gap of more than 32 bits", () => {
  const close = Array.from({ length: 65537 }, (_, i) => ({ start: i * 10, duration: 5 }));
  expect(planesOf(close, ["start", "duration"]).map((b) => b.header.count)).toEqual([65536, 1]);
  const far = [0, 4294967295, 4294967295 * 2 + 1].map((start) => ({ start, duration: 1 }));
  const blocks = planesOf(far, ["start", "duration"], 7);
  expect(blocks.map((b) => [b.header.id, b.header.count, b.header.first])).toEqual([
    [7, 2, 0],
    [8, 1, 8589934591],
  ]);
});

test("both ways to read base64 agree", () => {
  const bytes = Uint8Array.from({ length: 1000 }, (_, i) => (i * 7) % 256);
  const text = Buffer.from(bytes).toString("base64");
  expect(fromBase64(text)).toEqual(bytes);
  expect(fromBase64WithAtob(text)).toEqual(bytes);
});

const COLUMNS: ColumnName[] = ["start", "duration"];
const [ONE] = planesOf([{ start: 5, duration: 3 }], COLUMNS);

test.each([
  ["not base64", "!!!", ONE!.header],
  ["not deflate", Buffer.from("hello world").toString("base64"), ONE!.header],
  ["cut off", packed(ONE!.bytes).slice(0, 4), ONE!.header],
  ["too long", packed(new Uint8Array(1e6)), ONE!.header],
  ["too short", packed(new Uint8Array(3)), ONE!.header],
  ["no events", packed(new Uint8Array(0)), { ...ONE!.header, count: 0 }],
  ["too many events", packed(new Uint8Array(8 * 65537)), { ...ONE!.header, count: 65537 }],
  ["half an event", packed(new Uint8Array(4)), { ...ONE!.header, count: 0.5 }],
  ["an unsafe start", packed(ONE!.bytes), { ...ONE!.header, first: 2 ** 60 }],
  [
    "a long event that is short",
    packed(ONE!.bytes),
    { ...ONE!.header, long: [[0, 5e9]] as [number, number][] },
  ],
])("a block that is damaged says where: %s", async (_, text, header) => {
  const result = decode({ text, lane: "stream 7", columns: COLUMNS, header });
  await expect(result).rejects.toThrow(/^Block 0 of lane "stream 7" cannot be read: ./);
});

test("a long event without its duration is refused", () => {
  const [block] = planesOf([{ start: 0, duration: 5e9 }], COLUMNS);
  expect(block!.header.long).toEqual([[0, 5e9]]);
  expect(() => readBlock(block!.bytes, COLUMNS, { id: 0, count: 1, first: 0 })).toThrow(/long/);
  const tooShort = { ...block!.header, long: [[0, 12]] as [number, number][] };
  expect(() => readBlock(block!.bytes, COLUMNS, tooShort)).toThrow(/12 ns/);
});

test("a mutated block gives its columns or an error that names it, and never hangs", async () => {
  const random = new Random(77);
  const [block] = planesOf(randomEvents(200, random), ALL_COLUMNS);
  const text = packed(block!.bytes);
  let refused = 0;
  for (let k = 0; k < 300; k++) {
    const at = random.below(text.length);
    const mutated =
      text.slice(0, at) +
      String.fromCharCode(33 + random.below(90)) +
      text.slice(at + 1 + random.below(3));
    const count = random.below(4) === 0 ? random.below(70000) : block!.header.count;
    const job = {
      text: mutated,
      lane: "x",
      columns: ALL_COLUMNS,
      header: { ...block!.header, count },
    };
    await decode(job).then(
      (columns) => expect(columns.start.length).toBe(count),
      (error: Error) => {
        refused++;
        expect(error.message).toMatch(/^Block 0 of lane "x" cannot be read: ./);
      },
    );
  }
  expect(refused).toBeGreaterThan(100);
});

test("the page decodes by itself where workers cannot be made", async () => {
  const pool = new DecodePool(() => {
    throw new Error("refused");
  }, 2);
  const job = { text: packed(ONE!.bytes), lane: "x", columns: COLUMNS, header: ONE!.header };
  expect((await pool.decode(job)).start[0]).toBe(5);
});

test("the page takes over the jobs of workers that fail to start", async () => {
  class Broken {
    onerror: ((event: { preventDefault(): void }) => void) | undefined;
    postMessage() {
      queueMicrotask(() => this.onerror?.({ preventDefault() {} }));
    }
    terminate() {}
  }
  const pool = new DecodePool(() => new Broken() as unknown as Worker, 1);
  const job = { text: packed(ONE!.bytes), lane: "x", columns: COLUMNS, header: ONE!.header };
  const both = await Promise.all([pool.decode(job), pool.decode(job)]);
  expect(both.map((columns) => columns.duration[0])).toEqual([3, 3]);
});
