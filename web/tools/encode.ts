// Writes blocks as src/report/html will. Tests and the converter use it; the page does not contain it.
import { deflateRawSync } from "node:zlib";
import format from "../format.json";
import type { BlockHeader } from "../src/codec/block.ts";
import { type ColumnName, LIMITS, LONG_DURATION, NO_LINK, widthOf } from "../src/format.ts";

export const ALL_COLUMNS = Object.keys(format.columns) as ColumnName[];

export interface PlainEvent {
  start: number;
  duration: number;
  name?: number;
  class?: number;
  link?: number;
  site?: number;
  bytes?: number;
  exposed?: number;
}

export interface PlainBlock {
  header: BlockHeader;
  /** The byte planes, not yet deflated. */
  bytes: Uint8Array;
}

/** Cuts events into blocks: a new one after 65,536 events, and where the gap between two starts needs more than 32 bits. */
export function planesOf(
  events: readonly PlainEvent[],
  columns: readonly ColumnName[],
  firstId = 0,
): PlainBlock[] {
  const blocks: PlainBlock[] = [];
  let from = 0;
  for (let i = 1; i <= events.length; i++) {
    const isFull = i - from === LIMITS.events_in_block;
    const isFar = i < events.length && events[i]!.start - events[i - 1]!.start > 0xffffffff;
    if (i < events.length && !isFull && !isFar) continue;
    blocks.push(blockOf(events.slice(from, i), columns, firstId + blocks.length));
    from = i;
  }
  return blocks;
}

function blockOf(
  events: readonly PlainEvent[],
  columns: readonly ColumnName[],
  id: number,
): PlainBlock {
  const header: BlockHeader = { id, count: events.length, first: events[0]!.start };
  const long: [number, number][] = [];
  const planes: Uint8Array[] = [];
  for (const column of columns)
    planes.push(transposed(valuesOf(events, column, long), widthOf(column)!));
  if (long.length > 0) header.long = long;
  return { header, bytes: Buffer.concat(planes) };
}

function valuesOf(
  events: readonly PlainEvent[],
  column: ColumnName,
  long: [number, number][],
): number[] {
  let before = column === "start" ? events[0]!.start : 0;
  return events.map((event, i) => {
    switch (column) {
      case "start":
      case "link": {
        const value = event[column] ?? NO_LINK;
        const difference = column === "link" ? (value - before) >>> 0 : value - before;
        before = value;
        return difference;
      }
      case "duration":
        if (event.duration < LONG_DURATION) return event.duration;
        long.push([i, event.duration]);
        return LONG_DURATION;
      default:
        return event[column] ?? 0;
    }
  });
}

function transposed(values: readonly number[], width: number): Uint8Array {
  const out = new Uint8Array(values.length * width);
  values.forEach((value, i) => {
    let rest = value;
    for (let plane = 0; plane < width; plane++) {
      out[plane * values.length + i] = rest % 256;
      rest = Math.floor(rest / 256);
    }
  });
  return out;
}

export function packed(bytes: Uint8Array): string {
  return deflateRawSync(bytes, { level: 6 }).toString("base64");
}
