// The same vectors test the writer in C++, so that what it writes is what this decoder reads.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { BlockHeader } from "../../src/codec/block.ts";
import { decode } from "../../src/codec/decode.ts";
import type { ColumnName } from "../../src/format.ts";
import { type PlainEvent, planesOf } from "../../tools/encode.ts";

interface Vector {
  name: string;
  columns: ColumnName[];
  events: PlainEvent[];
  blocks: (BlockHeader & { planes_hex: string; text: string })[];
}
const file = new URL("../../../tests/report/html_blocks.json", import.meta.url);
const vectors: Vector[] = JSON.parse(readFileSync(file, "utf8"));

test.each(vectors)("decoder: $name", async ({ columns, events, blocks }) => {
  const back: Record<string, number>[] = [];
  for (const { planes_hex: _, text, ...header } of blocks) {
    const decoded = await decode({ text, lane: "x", columns, header });
    for (let i = 0; i < header.count; i++)
      back.push(Object.fromEntries(columns.map((column) => [column, decoded[column]![i]!])));
  }
  expect(back).toEqual(events);
});

test.each(vectors)("encoder: $name", ({ columns, events, blocks }) => {
  const written = planesOf(events, columns).map(({ header, bytes }) => ({
    ...header,
    planes_hex: Buffer.from(bytes).toString("hex"),
  }));
  expect(written).toEqual(blocks.map(({ text: _, ...rest }) => rest));
});
