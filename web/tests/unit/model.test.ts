import { expect, test } from "vitest";
import { CLASSES } from "../../src/format.ts";
import { causeOf, effectsOf } from "../../src/model/links.ts";
import { checkContents } from "../../src/page/contents.ts";
import { burstyEvents, runOf } from "./lanes.ts";
import { Random } from "./random.ts";

test("the event under the pointer is the one a linear scan finds", () => {
  const random = new Random(9);
  const events = burstyEvents(500, random);
  const lane = runOf([{ kind: "stream", events }]).lanes[0]!;
  for (let k = 0; k < 2000; k++) {
    const time = random.next() * lane.end(499);
    const expected = events.findIndex((e) => e.start <= time && time < e.start + e.duration);
    expect(lane.at(time) ?? -1).toBe(expected);
    const after = events.findIndex((e) => e.start + e.duration > time);
    expect(lane.firstEndingAfter(time)).toBe(after < 0 ? 500 : after);
  }
});

test("overlapping events are refused, because every sum would be wrong", () => {
  const events = [
    { start: 0, duration: 11 },
    { start: 10, duration: 1 },
  ];
  expect(() => runOf([{ kind: "stream", title: "stream 7", events }])).toThrow(
    'Events of lane "stream 7" overlap at 10 ns',
  );
});

test("cause and effect are each other's inverse", () => {
  const run = runOf([
    {
      kind: "host",
      events: [0, 1, 2].map((i) => ({ start: i * 10, duration: 5, class: CLASSES.launch })),
    },
    {
      kind: "stream",
      events: [2, 0, 2].map((link, i) => ({ start: 100 + i * 10, duration: 5, link })),
    },
    {
      kind: "stream",
      events: [
        { start: 100, duration: 5, link: 0 },
        { start: 110, duration: 5 },
      ],
    },
  ]);
  const [host, first, second] = run.lanes;
  expect(effectsOf(run, { lane: host!, i: 0 })).toEqual([
    { lane: first, i: 1 },
    { lane: second, i: 0 },
  ]);
  expect(effectsOf(run, { lane: host!, i: 1 })).toEqual([]);
  for (const i of [0, 1, 2])
    for (const effect of effectsOf(run, { lane: host!, i }))
      expect(causeOf(run, effect)).toEqual({ lane: host, i });
  expect(causeOf(run, { lane: second!, i: 1 })).toBeUndefined();
  expect(effectsOf(run, { lane: host!, i: 2 }, 1)).toHaveLength(1);
});

test("numbers of events that do not exist give nothing", () => {
  const run = runOf([{ kind: "host", events: [{ start: 0, duration: 1 }] }]);
  for (const number of [-1, 1, 0.5, 4294967295, Number.NaN])
    expect(run.event(number)).toBeUndefined();
  expect(run.event(0)).toEqual({ lane: run.lanes[0], i: 0 });
});

test.each([
  [{ version: 2 }, /version 2/],
  [null, /version/],
  [{ version: 1 }, /groups/],
  [{ ...runOf([]).contents, lanes: [{ kind: "wall", columns: [], blocks: [] }] }, /wall/],
  [{ ...runOf([]).contents, lanes: [{ kind: "host", columns: ["colour"], blocks: [] }] }, /colour/],
  [
    { ...runOf([]).contents, lanes: [{ kind: "host", columns: [], blocks: [{ count: 5e9 }] }] },
    /too many/,
  ],
])("a table of contents that cannot be right is refused: %#", (contents, why) => {
  expect(() => checkContents(contents)).toThrow(why);
});
