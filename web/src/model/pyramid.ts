// Answers, for any stretch of a lane and at every zoom, how long it was busy, what it mostly did, and which events in it are
// long enough to be drawn one by one.
//
// Busy time is exact, not rounded to buckets: sums up to each event and an index by time give the busy time up to any moment in
// a few steps. What a stretch mostly did only chooses a colour, so that comes from buckets of 2^k ns, halved up to one.
import { isWaiting } from "../format.ts";
import type { Lane } from "./lane.ts";
import { firstAbove } from "./search_sorted.ts";

const EVENTS_IN_BUCKET = 8;
const MAX_BUCKETS = 1 << 21;
const EVENTS_IN_GROUP = 64;
const GROUPS_IN_SECTION = 64;

export class Pyramid {
  /** Time of bucket 0's start. */
  private origin: number;
  private readonly width: number;
  private readonly buckets: number;
  /** How many events start up to a bucket's start. */
  private readonly started: Uint32Array;
  /** The class that takes most of each bucket's time: level 0 is the finest. Waiting counts only in lanes of nothing else. */
  private readonly dominant: Uint8Array[];
  /** The longest event of each 64 events, and of each 64 of those. */
  private readonly longestOfGroup: Float64Array;
  private readonly longestOfSection: Float64Array;

  constructor(readonly lane: Lane) {
    const { count } = lane;
    this.origin = count > 0 ? lane.start[0]! : 0;
    const span = count > 0 ? Math.max(1, lane.end(count - 1) - this.origin) : 1;
    const wanted = Math.min(MAX_BUCKETS, Math.max(1, Math.ceil(count / EVENTS_IN_BUCKET)));
    this.width = 2 ** Math.max(0, Math.ceil(Math.log2(span / wanted)));
    this.buckets = Math.floor(span / this.width) + 1;
    this.started = this.indexByTime();
    this.dominant = this.classesByTime();
    this.longestOfGroup = longest(count, EVENTS_IN_GROUP, (i) => lane.duration(i));
    this.longestOfSection = longest(
      this.longestOfGroup.length,
      GROUPS_IN_SECTION,
      (i) => this.longestOfGroup[i]!,
    );
  }

  /** After the lane was moved in time. */
  shift(ns: number): void {
    this.origin += ns;
  }

  /** Busy time from the beginning up to `time`, exactly. With `sums` of the lane for the time spent waiting. */
  busyUntil(time: number, sums: Float64Array = this.lane.before): number {
    return this.busyWithin(time, this.startedBy(time), sums);
  }

  /** How many events start at or before `time`. */
  startedBy(time: number): number {
    const { lane } = this;
    if (lane.count === 0 || time < this.origin) return 0;
    const bucket = Math.floor((time - this.origin) / this.width);
    if (bucket >= this.buckets) return lane.count;
    return firstAbove(lane.start, time, this.started[bucket]!, this.started[bucket + 1]!);
  }

  /** `busyUntil` for those who have `started`, which is `startedBy(time)`. */
  busyWithin(time: number, started: number, sums: Float64Array): number {
    if (started === 0) return 0;
    const before = sums[started - 1]!;
    // The last event that started may still run; an event that is not in these sums adds nothing.
    return before + Math.min(sums[started]! - before, time - this.lane.start[started - 1]!);
  }

  /** The level whose buckets are at most `width` ns long, or the finest. */
  levelFor(width: number): number {
    const level = Math.floor(Math.log2(width / this.width));
    return Math.min(this.dominant.length - 1, Math.max(0, level));
  }

  /** What the lane mostly does around `time`, at the resolution of a level. */
  dominantAt(time: number, level: number): number {
    const bucket = Math.floor((time - this.origin) / (this.width * 2 ** level));
    const classes = this.dominant[level]!;
    return classes[Math.min(classes.length - 1, Math.max(0, bucket))]!;
  }

  /** Calls `visit` for each event in [from, to) that lasts at least `duration`, in order, until it returns false. */
  forLong(
    from: number,
    to: number,
    duration: number,
    visit: (event: number) => boolean | undefined,
  ): void {
    const { lane } = this;
    let i = from;
    while (i < to) {
      const group = Math.floor(i / EVENTS_IN_GROUP);
      const section = Math.floor(group / GROUPS_IN_SECTION);
      if (this.longestOfSection[section]! < duration) {
        i = (section + 1) * GROUPS_IN_SECTION * EVENTS_IN_GROUP;
      } else if (this.longestOfGroup[group]! < duration) {
        i = (group + 1) * EVENTS_IN_GROUP;
      } else {
        const end = Math.min(to, (group + 1) * EVENTS_IN_GROUP);
        for (; i < end; i++) if (lane.duration(i) >= duration && visit(i) === false) return;
      }
    }
  }

  private indexByTime(): Uint32Array {
    const started = new Uint32Array(this.buckets + 1);
    const { start, count } = this.lane;
    let i = 0;
    for (let bucket = 0; bucket <= this.buckets; bucket++) {
      const time = this.origin + bucket * this.width;
      // An event that starts exactly at the bucket's start belongs to the bucket, whose search finds it again.
      while (i < count && start[i]! < time) i++;
      started[bucket] = i;
    }
    started[this.buckets] = count;
    return started;
  }

  private classesByTime(): Uint8Array[] {
    const { lane } = this;
    const onlyWaits = lane.waitingBefore === lane.before;
    let classes = new Uint8Array(this.buckets);
    let shares = new Float32Array(this.buckets);
    const inBucket = new Float64Array(256);
    const seen: number[] = [];
    let current = 0;
    const finish = (bucket: number) => {
      let best = 0;
      for (const c of seen) if (inBucket[c]! > inBucket[best]!) best = c;
      classes[bucket] = best;
      shares[bucket] = inBucket[best]!;
      for (const c of seen) inBucket[c] = 0;
      seen.length = 0;
    };
    for (let i = 0; i < lane.count; i++) {
      const eventClass = lane.eventClass[i]!;
      if (!onlyWaits && isWaiting(eventClass)) continue;
      let from = lane.start[i]! - this.origin;
      const end = from + lane.duration(i);
      do {
        const bucket = Math.floor(from / this.width);
        if (bucket !== current) {
          finish(current);
          current = bucket;
        }
        const until = Math.min(end, (bucket + 1) * this.width);
        if (inBucket[eventClass] === 0) seen.push(eventClass);
        inBucket[eventClass]! += Math.max(until - from, Number.MIN_VALUE);
        from = until;
      } while (from < end);
    }
    finish(current);
    const levels = [classes];
    while (classes.length > 1) {
      const n = (classes.length + 1) >> 1;
      const upper = new Uint8Array(n);
      const upperShares = new Float32Array(n);
      for (let i = 0; i < n; i++) {
        const right = 2 * i + 1 < classes.length ? 2 * i + 1 : 2 * i;
        const best = shares[right]! > shares[2 * i]! ? right : 2 * i;
        upper[i] = classes[best]!;
        upperShares[i] =
          right !== 2 * i && classes[2 * i] === classes[right]
            ? shares[2 * i]! + shares[right]!
            : shares[best]!;
      }
      levels.push(upper);
      classes = upper;
      shares = upperShares;
    }
    return levels;
  }
}

function longest(count: number, inGroup: number, value: (i: number) => number): Float64Array {
  const result = new Float64Array(Math.ceil(count / inGroup));
  for (let i = 0; i < count; i++) {
    const group = Math.floor(i / inGroup);
    result[group] = Math.max(result[group]!, value(i));
  }
  return result;
}
