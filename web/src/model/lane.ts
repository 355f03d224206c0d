// The events of one lane in memory: 25 bytes each. They are sorted and do not overlap, so that the busy time before an event
// (`before`) also gives each event's duration.
import type { Columns } from "../codec/block.ts";
import { isLack, isWaiting, NO_LINK } from "../format.ts";
import type { LaneEntry } from "../page/contents.ts";
import { firstAbove } from "./search_sorted.ts";

export class Lane {
  readonly count: number;
  readonly start: Float64Array;
  /** Busy time of all events before each event; one entry more than events. */
  readonly before: Float64Array;
  /** The same of events that are waiting. Null if none is; the same array if all are. */
  waitingBefore: Float64Array | null = null;
  readonly name: Uint16Array;
  readonly eventClass: Uint8Array;
  readonly link: Uint32Array;
  readonly site: Uint16Array;
  readonly bytes: Float64Array | null;
  readonly exposed: Uint32Array | null;
  /** Whether it has stretches that are no event but a lack of them: lost, or not in this file. */
  lacksEvents = false;
  private filled = 0;

  /** `firstNumber` is the number of its first event among the events of all lanes; links point to such numbers. */
  constructor(
    readonly entry: LaneEntry,
    readonly index: number,
    readonly firstNumber: number,
  ) {
    this.count = entry.blocks.reduce((sum, block) => sum + block.count, 0);
    this.start = new Float64Array(this.count);
    this.before = new Float64Array(this.count + 1);
    this.name = new Uint16Array(entry.columns.includes("name") ? this.count : 0);
    this.eventClass = new Uint8Array(this.count);
    this.link = new Uint32Array(entry.columns.includes("link") ? this.count : 0);
    this.site = new Uint16Array(entry.columns.includes("site") ? this.count : 0);
    this.bytes = entry.columns.includes("bytes") ? new Float64Array(this.count) : null;
    this.exposed = entry.columns.includes("exposed") ? new Uint32Array(this.count) : null;
  }

  /** Appends a block. Blocks come in order. Throws if events overlap, because every figure of the page rests on that. */
  append(block: Columns): void {
    const at = this.filled;
    const n = block.start.length;
    let end = at > 0 ? this.end(at - 1) : Number.NEGATIVE_INFINITY;
    let sum = this.before[at]!;
    for (let i = 0; i < n; i++) {
      const start = block.start[i]!;
      if (start < end)
        throw new Error(`Events of lane "${this.entry.title}" overlap at ${start} ns`);
      end = start + block.duration[i]!;
      sum += block.duration[i]!;
      this.before[at + i + 1] = sum;
    }
    this.start.set(block.start, at);
    if (block.name) this.name.set(block.name, at);
    if (block.class) this.eventClass.set(block.class, at);
    if (block.link) this.link.set(block.link, at);
    if (block.site) this.site.set(block.site, at);
    if (block.bytes) this.bytes?.set(block.bytes, at);
    if (block.exposed) this.exposed?.set(block.exposed, at);
    this.filled = at + n;
    if (this.filled === this.count) this.sumWaiting();
  }

  /** Moves all its events in time. */
  shift(ns: number): void {
    for (let i = 0; i < this.count; i++) this.start[i]! += ns;
    for (const point of this.entry.curve ?? []) point[0] += ns;
  }

  private sumWaiting(): void {
    let waits = 0;
    for (let i = 0; i < this.count; i++) {
      const eventClass = this.eventClass[i]!;
      if (isWaiting(eventClass)) waits++;
      else if (isLack(eventClass)) this.lacksEvents = true;
    }
    if (waits === 0) return;
    if (waits === this.count) {
      this.waitingBefore = this.before;
      return;
    }
    const sums = new Float64Array(this.count + 1);
    for (let i = 0; i < this.count; i++)
      sums[i + 1] = sums[i]! + (isWaiting(this.eventClass[i]!) ? this.duration(i) : 0);
    this.waitingBefore = sums;
  }

  /** Whether it holds what the GPU's copy engines do, memsets too. */
  get isOfCopies(): boolean {
    return this.entry.kind.startsWith("copy_");
  }

  /** Whether a dark upper edge shows when no kernel ran beside its events. */
  get showsExposure(): boolean {
    return this.isOfCopies && this.exposed !== null;
  }

  duration(i: number): number {
    return this.before[i + 1]! - this.before[i]!;
  }

  end(i: number): number {
    return this.start[i]! + this.duration(i);
  }

  /** The event that caused event `i`, by number; undefined if unknown. */
  cause(i: number): number | undefined {
    const link = this.link[i];
    return link === undefined || link === NO_LINK ? undefined : link;
  }

  /** The first event that ends after `time`; `count` if none does. */
  firstEndingAfter(time: number): number {
    const i = firstAbove(this.start, time, 0, this.count);
    return i > 0 && this.end(i - 1) > time ? i - 1 : i;
  }

  /** The first event that starts at or after `time`. */
  firstStartingAt(time: number): number {
    let i = firstAbove(this.start, time, 0, this.count);
    while (i > 0 && this.start[i - 1] === time) i--;
    return i;
  }

  /** The event at this time, or undefined. */
  at(time: number): number | undefined {
    const i = this.firstEndingAfter(time);
    return i < this.count && this.start[i]! <= time ? i : undefined;
  }
}
