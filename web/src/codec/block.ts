// One block: up to 65,536 events of one lane, sorted by start and without overlap.
import { type ColumnName, LIMITS, LONG_DURATION, widthOf } from "../format.ts";
import { readU8, readU16, readU32, readU64 } from "./planes.ts";

/** What the table of contents says about a block. */
export interface BlockHeader {
  /** Its element is `tp-b<id>`. */
  id: number;
  count: number;
  /** When its first event starts, in ns since the run's start. */
  first: number;
  /** Events that last 2^32-1 ns or longer: [index in the block, ns]. */
  long?: [number, number][];
}

export interface Columns {
  start: Float64Array<ArrayBuffer>;
  duration: Float64Array<ArrayBuffer>;
  name?: Uint16Array<ArrayBuffer>;
  class?: Uint8Array<ArrayBuffer>;
  link?: Uint32Array<ArrayBuffer>;
  site?: Uint16Array<ArrayBuffer>;
  bytes?: Float64Array<ArrayBuffer>;
  exposed?: Uint32Array<ArrayBuffer>;
}

/** How many bytes the inflated block has. */
export function inflatedSize(columns: readonly string[], count: number): number {
  let width = 0;
  for (const column of columns) width += widthOf(column) ?? 0;
  return width * count;
}

/** Throws with a reason if the header contradicts the format or the data. */
export function readBlock(
  bytes: Uint8Array,
  columns: readonly ColumnName[],
  header: BlockHeader,
): Columns {
  const { count } = header;
  if (!Number.isInteger(count) || count < 1 || count > LIMITS.events_in_block)
    throw new Error(`has ${count} events; 1 to ${LIMITS.events_in_block} are allowed`);
  if (!Number.isSafeInteger(header.first)) throw new Error(`starts at ${header.first}`);
  const expected = inflatedSize(columns, count);
  if (bytes.length !== expected)
    throw new Error(`holds ${bytes.length} bytes instead of ${expected}`);
  const result: Partial<Columns> = {};
  let at = 0;
  for (const column of columns) {
    readColumn(result, column, bytes, at, header);
    at += widthOf(column)! * count;
  }
  if (!result.start || !result.duration) throw new Error("lacks its starts or durations");
  return result as Columns;
}

function readColumn(
  into: Partial<Columns>,
  column: ColumnName,
  bytes: Uint8Array,
  at: number,
  header: BlockHeader,
): void {
  const { count } = header;
  switch (column) {
    case "start":
      into.start = startsOf(readU32(bytes, at, count), header.first);
      return;
    case "duration":
      into.duration = durationsOf(readU32(bytes, at, count), header.long ?? []);
      return;
    case "link":
      into.link = summedUp(readU32(bytes, at, count));
      return;
    case "name":
    case "site":
      into[column] = readU16(bytes, at, count);
      return;
    case "class":
      into.class = readU8(bytes, at, count);
      return;
    case "bytes":
      into.bytes = readU64(bytes, at, count);
      return;
    case "exposed":
      into.exposed = readU32(bytes, at, count);
      return;
  }
}

function startsOf(gaps: Uint32Array, first: number): Float64Array<ArrayBuffer> {
  const starts = new Float64Array(gaps.length);
  let now = first;
  for (let i = 0; i < gaps.length; i++) {
    now += gaps[i]!;
    starts[i] = now;
  }
  return starts;
}

function durationsOf(stored: Uint32Array, long: [number, number][]): Float64Array<ArrayBuffer> {
  const durations = new Float64Array(stored);
  for (const [index, ns] of long) {
    if (stored[index] !== LONG_DURATION)
      throw new Error(`calls event ${index} long, which is not marked so`);
    if (!Number.isSafeInteger(ns) || ns < LONG_DURATION)
      throw new Error(`gives ${ns} ns to the long event ${index}`);
    durations[index] = ns;
  }
  const marked = stored.reduce((sum, value) => sum + (value === LONG_DURATION ? 1 : 0), 0);
  if (marked !== long.length)
    throw new Error(`marks ${marked} events as long and gives ${long.length} durations`);
  return durations;
}

/** Undoes differences modulo 2^32, in place. */
function summedUp(differences: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  let value = 0;
  for (let i = 0; i < differences.length; i++) {
    value = (value + differences[i]!) >>> 0;
    differences[i] = value;
  }
  return differences;
}
