import { expect, test } from "vitest";
import { CLASSES, isWaiting } from "../../src/format.ts";
import { Pyramid } from "../../src/model/pyramid.ts";
import type { PlainEvent } from "../../tools/encode.ts";
import { burstyEvents, runOf } from "./lanes.ts";
import { Random } from "./random.ts";

function busyIn(events: PlainEvent[], from: number, to: number): number {
  let sum = 0;
  for (const { start, duration } of events)
    sum += Math.max(0, Math.min(to, start + duration) - Math.max(from, start));
  return sum;
}

test("the busy share of any column at any zoom is exact", () => {
  for (let seed = 1; seed <= 10; seed++) {
    const random = new Random(seed);
    const events = burstyEvents(3000, random, [CLASSES.call, CLASSES.blocked]);
    const lane = runOf([{ kind: "host", events }]).lanes[0]!;
    const pyramid = new Pyramid(lane);
    const waits = events.filter((event) => isWaiting(event.class!));
    const span = lane.end(lane.count - 1);
    for (let i = 0; i < 300; i++) {
      const from = random.next() * span * 1.1 - span * 0.05;
      const to = from + span * 10 ** (-6 * random.next());
      expect(pyramid.busyUntil(to) - pyramid.busyUntil(from)).toBeCloseTo(
        busyIn(events, from, to),
        3,
      );
      const sums = lane.waitingBefore!;
      const waited = pyramid.busyUntil(to, sums) - pyramid.busyUntil(from, sums);
      expect(waited).toBeCloseTo(busyIn(waits, from, to), 3);
    }
  }
});

test("a thousand gaps shorter than a pixel add up", () => {
  const gaps = Array.from({ length: 1000 }, (_, i) => ({
    start: i * 50000,
    duration: 5000,
    class: CLASSES.idle_sync,
  }));
  const pyramid = new Pyramid(runOf([{ kind: "state", events: gaps }]).lanes[0]!);
  expect(pyramid.busyUntil(50e6) / 50e6).toBeCloseTo(0.1, 6);
});

test("long events are found as a linear scan finds them", () => {
  const random = new Random(3);
  const lane = runOf([{ kind: "stream", events: burstyEvents(20000, random) }]).lanes[0]!;
  const pyramid = new Pyramid(lane);
  for (const duration of [0, 250, 40000, 49990, 1e9]) {
    const from = random.below(9000);
    const to = from + random.below(11000);
    const found: number[] = [];
    pyramid.forLong(from, to, duration, (i) => {
      found.push(i);
      return undefined;
    });
    const expected = [];
    for (let i = from; i < to; i++) if (lane.duration(i) >= duration) expected.push(i);
    expect(found).toEqual(expected);
  }
});

test("the class that takes most of the time gives the colour", () => {
  const events = Array.from({ length: 4000 }, (_, i) => ({
    start: i * 100,
    duration: i % 2 ? 90 : 20,
    class: (i < 2000 ? i % 2 : 1 - (i % 2)) ? CLASSES.matmul : CLASSES.reduction,
  }));
  for (const event of events) event.duration = event.class === CLASSES.matmul ? 90 : 20;
  for (let i = 2000; i < 4000; i++)
    events[i]!.duration = events[i]!.class === CLASSES.matmul ? 20 : 90;
  const pyramid = new Pyramid(runOf([{ kind: "stream", events }]).lanes[0]!);
  for (const width of [1000, 20000, 90000]) {
    expect(pyramid.dominantAt(50000, pyramid.levelFor(width))).toBe(CLASSES.matmul);
    expect(pyramid.dominantAt(350000, pyramid.levelFor(width))).toBe(CLASSES.reduction);
  }
});

test("waiting does not give a mixed lane its colour", () => {
  const events = [
    { start: 0, duration: 1000, class: CLASSES.blocked },
    { start: 1000, duration: 10, class: CLASSES.launch },
  ];
  const pyramid = new Pyramid(runOf([{ kind: "host", events }]).lanes[0]!);
  expect(pyramid.dominantAt(500, pyramid.levelFor(1e6))).toBe(CLASSES.launch);
});

test.each([
  ["no event", []],
  ["one event of no length", [{ start: 7, duration: 0 }]],
  [
    "events at the same time",
    [
      { start: 7, duration: 0 },
      { start: 7, duration: 0 },
      { start: 7, duration: 5 },
    ],
  ],
  [
    "very long events",
    [
      { start: 0, duration: 9e12 },
      { start: 1e14, duration: 9e12 },
    ],
  ],
])("%s", (_, events) => {
  const lane = runOf([{ kind: "stream", events }]).lanes[0]!;
  const pyramid = new Pyramid(lane);
  expect(pyramid.busyUntil(1e15)).toBe(events.reduce((sum, event) => sum + event.duration, 0));
  expect(pyramid.busyUntil(-1)).toBe(0);
});
