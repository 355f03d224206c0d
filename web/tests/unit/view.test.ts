import { expect, test } from "vitest";
import { Actions } from "../../src/actions.ts";
import { CLASSES, isWaiting } from "../../src/format.ts";
import { hashOf, stateOfHash } from "../../src/hash.ts";
import { KEYS, keyFor } from "../../src/keys.ts";
import { layoutOf, rowAt } from "../../src/layout.ts";
import { gapByLength, nextGap } from "../../src/model/gaps.ts";
import type { Lane } from "../../src/model/lane.ts";
import type { Run } from "../../src/model/run.ts";
import { search } from "../../src/model/search.ts";
import { sumsOf } from "../../src/model/sums.ts";
import { spokenEvent, spokenWindow } from "../../src/spoken.ts";
import { Store, type ViewState } from "../../src/view_state.ts";
import { nearestEvent } from "../../src/views/pointer.ts";
import { burstyEvents, runOf } from "./lanes.ts";
import { Random } from "./random.ts";

const STATE: ViewState = {
  from: 1000,
  to: 5000,
  selection: null,
  span: null,
  tab: "details",
  fix: null,
  hidden: new Set(),
  marks: [],
  query: "",
  shift: 0,
};

test("a link brings the view back", () => {
  const state: ViewState = {
    from: 12031002,
    to: 18400000,
    selection: { kind: "site", index: 3 },
    span: [13000000, 14000001],
    tab: "source",
    fix: 1,
    hidden: new Set([2, 5]),
    marks: [12500000, 17000000],
    query: "gemm >1ms & more=",
    shift: -2500000,
  };
  expect(hashOf(state)).toMatch(/^#t=12\.031002,18\.4&sel=site:3&/);
  expect({ ...STATE, ...stateOfHash(hashOf(state)) }).toEqual(state);
  expect({ ...STATE, ...stateOfHash(hashOf(STATE)) }).toEqual(STATE);
  const event: ViewState = { ...STATE, selection: { kind: "event", number: 4294967294 } };
  expect(stateOfHash(hashOf(event)).selection).toEqual(event.selection);
});

test.each([
  "",
  "#",
  "#t=5,1",
  "#t=a,b",
  "#t=1e5,1e9",
  "#t=1",
  "#sel=site:-1",
  "#sel=wall:1",
  "#sel=",
  "#tab=__proto__",
  "#fix=1.5",
  "#q=%E0%A4%A",
  "#__proto__=1&constructor=2",
])("senseless links change nothing: %s", (hash) => {
  expect(stateOfHash(hash)).toEqual({});
});

test("the window stays inside the run", () => {
  const store = new Store(STATE, [0, 10000]);
  const window = () => [store.state.from, store.state.to];
  store.look(-500, 500);
  expect(window()).toEqual([0, 1000]);
  store.look(9900, 10900);
  expect(window()).toEqual([9000, 10000]);
  store.look(0, 1e9);
  expect(window()).toEqual([0, 10000]);
  store.look(4000, 4000);
  expect(window()).toEqual([4000, 4100]);
});

test("back undoes jumps, not the steps of panning", () => {
  const store = new Store(STATE, [0, 1e6]);
  store.look(2000, 6000);
  store.look(2100, 6100, false);
  store.look(2200, 6200, false);
  store.back();
  expect([store.state.from, store.state.to]).toEqual([1000, 5000]);
  store.back();
  expect([store.state.from, store.state.to]).toEqual([1000, 5000]);
});

function press(code: string, key: string, rest: object = {}) {
  return { code, key, shiftKey: false, altKey: false, ctrlKey: false, metaKey: false, ...rest };
}

test("every key of the help is found by its press, and no two share one", () => {
  const presses = new Set<string>();
  for (const key of KEYS)
    for (const code of key.codes) {
      const pressed = press(
        code,
        code === "Slash" ? (key.shift ? "?" : "/") : code.replace(/^(Key|Digit)/, ""),
        {
          shiftKey: key.shift ?? false,
          altKey: key.alt ?? false,
        },
      );
      expect(keyFor(pressed)).toBe(key);
      presses.add(JSON.stringify(pressed));
    }
  expect(presses.size).toBe(KEYS.flatMap((key) => key.codes).length);
});

test("keys with Ctrl belong to the browser; signs count by what they write", () => {
  expect(keyFor(press("KeyF", "f", { ctrlKey: true }))).toBeUndefined();
  expect(keyFor(press("KeyR", "r", { metaKey: true }))).toBeUndefined();
  // German keyboard: "?" and "/" are typed with Shift, elsewhere.
  expect(keyFor(press("Minus", "?", { shiftKey: true }))?.shown).toBe("?");
  expect(keyFor(press("Digit7", "/", { shiftKey: true }))?.shown).toBe("/");
});

test("rows come by process and device, with overlapping events and predictions below their lane", () => {
  const lanes = [
    { kind: "memory" as const, title: "GPU memory" },
    { kind: "stream" as const, title: "stream 7", device: 1 },
    { kind: "state" as const, title: "GPU 1", device: 1 },
    { kind: "stream" as const, title: "stream 7", device: 0, fix: 0 },
    { kind: "copy_up" as const, title: "up", device: 0 },
    { kind: "stream" as const, title: "stream 7", device: 0 },
    { kind: "stream" as const, title: "stream 7", device: 0, depth: 1 },
    { kind: "state" as const, title: "GPU 0", device: 0 },
    { kind: "host" as const, title: "main" },
    { kind: "steps" as const, title: "steps" },
  ].map((lane) => ({ ...lane, events: [] }));
  const titles = (choice: { hidden: Set<number>; fix: number | null }) =>
    layoutOf(runOf(lanes), choice).rows.map((row) => row.title);
  const recorded = [
    "steps",
    "main",
    "GPU 0",
    "stream 7",
    "",
    "up",
    "GPU 1",
    "stream 7",
    "GPU memory",
  ];
  expect(titles({ hidden: new Set(), fix: null })).toEqual(recorded);
  expect(titles({ hidden: new Set([9]), fix: null })).toEqual(recorded.slice(1));
  expect(titles({ hidden: new Set(), fix: 0 })).toEqual(recorded.toSpliced(5, 0, "with the fix"));
  expect(titles({ hidden: new Set(), fix: 1 })).toEqual(recorded);
});

test("the Python of a thread stands below the thread, and below its calls with the fix", () => {
  const lanes = [
    { kind: "host" as const, title: "main" },
    { kind: "python" as const, title: "main" },
    { kind: "host" as const, title: "autograd" },
    { kind: "python" as const, title: "autograd" },
    { kind: "host" as const, title: "main", fix: 0 },
  ].map((lane) => ({ ...lane, events: [] }));
  const rows = (fix: number | null) => layoutOf(runOf(lanes), { hidden: new Set(), fix }).rows;
  expect(rows(null).map((row) => row.title)).toEqual([
    "main",
    "its Python",
    "autograd",
    "its Python",
  ]);
  expect(rows(0).map((row) => row.title)).toEqual([
    "main",
    "with the fix",
    "its Python",
    "autograd",
    "its Python",
  ]);
  expect(rows(null)[1]!.height).toBeLessThan(rows(null)[0]!.height / 2);
});

test("rows do not overlap, and each is found at its height", () => {
  const lanes = (["steps", "host", "state", "stream"] as const).flatMap((kind) => [
    { kind, events: [] },
    { kind, events: [], depth: 1 },
    { kind, events: [], group: 1 },
  ]);
  const layout = layoutOf(runOf(lanes, { groups: ["rank 0", "rank 1"] }), {
    hidden: new Set(),
    fix: null,
  });
  let end = 0;
  for (const row of layout.rows) {
    expect(row.y).toBeGreaterThanOrEqual(end);
    end = row.y + row.height;
    expect(rowAt(layout, row.y)).toBe(row);
    expect(rowAt(layout, end - 0.5)).toBe(row);
  }
  expect(layout.height).toBeGreaterThanOrEqual(end);
  expect(layout.rows.filter((row) => row.lane === null).map((row) => row.title)).toEqual([
    "rank 0",
    "rank 1",
  ]);
});

function runWithGaps() {
  const gaps = [
    { start: 0, duration: 20000, class: CLASSES.idle_sync },
    { start: 50000, duration: 5000, class: CLASSES.idle_launch },
    { start: 100000, duration: 90000, class: CLASSES.idle_sync },
    { start: 300000, duration: 70000, class: CLASSES.copies_only },
    { start: 400000, duration: 40000, class: CLASSES.idle_input },
  ];
  return runOf([{ kind: "state", device: 0, events: gaps }], { span_ns: 1e6 });
}

test("from gap to gap, by time and by length", () => {
  const run = runWithGaps();
  expect(nextGap(run, -1, 1, 10000)?.i).toBe(0);
  expect(nextGap(run, 0, 1, 10000)?.i).toBe(2);
  expect(nextGap(run, 100000, 1, 10000)?.i).toBe(4);
  expect(nextGap(run, 400000, 1, 10000)).toBeUndefined();
  expect(nextGap(run, 400000, -1, 0)?.i).toBe(2);
  expect(gapByLength(run, undefined, 1)?.i).toBe(2);
  expect(gapByLength(run, { lane: run.lanes[0]!, i: 2 }, 1)?.i).toBe(4);
  expect(gapByLength(run, { lane: run.lanes[0]!, i: 4 }, -1)?.i).toBe(2);
  expect(gapByLength(run, { lane: run.lanes[0]!, i: 1 }, 1)).toBeUndefined();
});

test("N walks through the gaps and brings each into view", () => {
  const run = runWithGaps();
  const store = new Store({ ...STATE, from: 0, to: 30000 }, [0, 1e6]);
  const actions = new Actions(run, store);
  const seen: number[] = [];
  for (let k = 0; k < 3; k++) {
    actions.gap(1);
    const { event } = actions;
    seen.push(event!.i);
    expect(store.state.from).toBeLessThanOrEqual(event!.lane.start[event!.i]!);
    expect(store.state.to).toBeGreaterThanOrEqual(event!.lane.end(event!.i));
  }
  expect(seen).toEqual([2, 4, 4]);
});

test("going to times and steps", () => {
  const steps = [0, 1, 2].map((i) => ({
    start: i * 1e6,
    duration: i === 1 ? 900000 : 500000,
    class: CLASSES.step,
  }));
  const run = runOf([{ kind: "steps", events: steps }], { span_ns: 1e7 });
  const actions = new Actions(run, new Store({ ...STATE, to: 100000 }, [0, 1e7]));
  expect(actions.goTo("2.5 ms")).toBe(true);
  expect((actions.store.state.from + actions.store.state.to) / 2).toBe(2.5e6);
  expect(actions.goTo("step 2")).toBe(true);
  expect(actions.event?.i).toBe(2);
  expect(actions.goTo("nowhere")).toBe(false);
  actions.slowestStep();
  expect(actions.event?.i).toBe(1);
  actions.step(1);
  expect(actions.event?.i).toBe(2);
});

test("the event nearest to the pointer is the one a linear scan finds", () => {
  const random = new Random(4);
  const lane = runOf([{ kind: "stream", events: burstyEvents(300, random) }]).lanes[0]!;
  for (let k = 0; k < 500; k++) {
    const time = random.next() * lane.end(299);
    const distances = Array.from({ length: 300 }, (_, i) =>
      Math.max(lane.start[i]! - time, time - lane.end(i), 0),
    );
    const nearest = Math.min(...distances);
    const found = nearestEvent(lane, time, 500);
    if (nearest > 500) expect(found).toBeUndefined();
    else if (nearest > 0) expect(distances[found!]).toBe(nearest);
    else expect(distances[found!]).toBe(0);
  }
});

test("waiting classes are exactly those of the CPU blocked and the GPU idle", () => {
  const waiting = Object.entries(CLASSES).filter(([, number]) => isWaiting(number));
  expect(
    waiting.map(([name]) => name).every((name) => name === "blocked" || name.startsWith("idle_")),
  ).toBe(true);
  expect(waiting).toHaveLength(11);
});

test("a comparison has the tabs that need no report, and tells the runs apart", () => {
  const step = (start: number) => ({ start, duration: 100, class: CLASSES.step });
  const wait = { start: 0, duration: 50, class: CLASSES.idle_sync };
  const run = runOf(
    [
      { kind: "steps", group: 0, events: [step(0), step(100)] },
      { kind: "steps", group: 1, events: [step(0), step(100), step(200)] },
      { kind: "state", group: 1, device: 0, events: [wait] },
    ],
    { groups: ["before: a", "after: b"], after_group: 1 },
  );
  expect(run.sides.map(({ name, lanes }) => [name, lanes.length])).toEqual([
    ["before", 1],
    ["after", 2],
  ]);
  expect(run.stepOf({ lane: run.lanes[2]!, i: 0 })).toBe(0);
  expect(sumsOf(run, 0, 100, run.sides[0]!.lanes).devices).toEqual([]);
  expect(sumsOf(run, 0, 100, run.sides[1]!.lanes).devices[0]!.idle.get("idle_sync")).toBe(50);
  // It has no stream: no kernel is known, which is not the same as none.
  expect(sumsOf(run, 0, 100).devices[0]!.kernels_ns).toBeNull();
  expect(spokenWindow(run, 0, 100)).toContain("GPU 0 after the change waits 50\u00a0% of it.");

  const actions = new Actions(run, new Store({ ...STATE, tab: "source" }, [0, 1000]));
  expect(actions.tab).toBe("details");
  actions.showTab("transfers");
  expect(actions.tab).toBe("details");
  actions.showTab("view");
  expect(actions.tab).toBe("view");
});

test("of a comparison, threads that do little stand below the devices", () => {
  const lanes = (group: number) => [
    ...["main thread", "autograd thread 2", "loader", "loader"].map((title) => ({
      kind: "host" as const,
      title,
      group,
      events: [],
    })),
    { kind: "stream" as const, title: "stream 7", group, device: 0, events: [] },
  ];
  const groups = ["before: a", "after: b"];
  const choice = { hidden: new Set<number>(), fix: null };
  const titles = (run: Run) => layoutOf(run, choice).rows.map((row) => row.title);
  const all = [...lanes(0), ...lanes(1)];
  const order = ["main thread", "autograd thread 2", "stream 7", "loader", "loader"];
  expect(titles(runOf(all, { groups, after_group: 1 }))).toEqual(
    groups.flatMap((group) => [group, ...order]),
  );
  expect(titles(runOf(lanes(0))).at(-1)).toBe("stream 7");
});

test("rows of a comparison are lower, and each run has its heading", () => {
  const lanes = (group: number) => [
    { kind: "host" as const, group, events: [] },
    { kind: "stream" as const, group, device: 0, events: [] },
  ];
  const choice = { hidden: new Set<number>(), fix: null };
  const groups = ["before: a", "after: b"];
  const apart = layoutOf(runOf([...lanes(0), ...lanes(1)], { groups }), choice);
  const compared = layoutOf(runOf([...lanes(0), ...lanes(1)], { groups, after_group: 1 }), choice);
  expect(compared.rows.map((row) => row.title)).toEqual(apart.rows.map((row) => row.title));
  expect(compared.rows.filter((row) => row.lane === null).map((row) => row.title)).toEqual(groups);
  expect(compared.height).toBeLessThan(apart.height * 0.8);
});

/** Two runs of steps, which begin together at the third step of the first and the second of the other. */
function comparedSteps() {
  const steps = (count: number, first: number, period: number) =>
    Array.from({ length: count }, (_, i) => ({
      start: first + i * period,
      duration: period - 1000,
      class: CLASSES.step,
    }));
  return runOf(
    [
      { kind: "steps", events: steps(6, 0, 1e6) },
      { kind: "steps", group: 1, events: steps(4, 2e6 - 4e5, 4e5) },
      {
        kind: "memory",
        group: 1,
        events: [],
        curve: [[5, 100]] as [number, number][],
      },
    ],
    { groups: ["before: a", "after: b"], after_group: 1, span_ns: 1e7 },
  );
}

test("J and K go through both runs, whose steps stay aligned", () => {
  const run = comparedSteps();
  const [before, after, memory] = run.lanes as [Lane, Lane, Lane];
  const store = new Store({ ...STATE, from: 2e6, to: 3e6 }, [0, 1e7]);
  const actions = new Actions(run, store);
  expect(run.pyramid(after).busyUntil(2e6)).toBe(399000);
  const expectAligned = (first: number, second: number) => {
    expect(actions.event).toEqual({ lane: before, i: first });
    expect(after.start[second]).toBe(before.start[first]);
    expect(store.state.from).toBeLessThan(before.start[first]!);
    expect(store.state.to).toBeGreaterThan(before.end(first));
  };
  actions.step(1);
  expectAligned(3, 2);
  expect(run.pyramid(after).busyUntil(3e6)).toBe(2 * 399000);
  expect(memory.entry.curve).toEqual([[5 + 6e5, 100]]);
  actions.step(1);
  expectAligned(4, 3);
  // The other run has no further step: it stays.
  actions.step(1);
  expect(actions.event).toEqual({ lane: before, i: 5 });
  expect(after.start[3]).toBe(before.start[4]);
  for (let k = 0; k < 4; k++) actions.step(-1);
  expectAligned(1, 0);
  // In the other run, its own steps.
  actions.select({ lane: after, i: 0 });
  actions.step(1);
  expect(actions.event).toEqual({ lane: after, i: 1 });
  expect(after.start[1]).toBe(before.start[2]);
  expect(store.state.from).toBeLessThan(before.start[2]!);
  store.back();
  expect(after.start[0]).toBe(before.start[1]);
});

test("a link brings back how two runs are aligned", () => {
  const run = comparedSteps();
  const store = new Store({ ...STATE, ...stateOfHash("#shift=0.6") }, [0, 1e7]);
  new Actions(run, store);
  expect(run.lanes[1]!.start[2]).toBe(run.lanes[0]!.start[3]);
});

test("what was not recorded is no work, but search finds it", () => {
  const events = [
    { start: 0, duration: 1000, class: CLASSES.matmul },
    { start: 1000, duration: 8000, class: CLASSES.lost },
    { start: 9000, duration: 500, class: CLASSES.matmul },
  ];
  const run = runOf([{ kind: "stream", device: 0, events }]);
  expect(sumsOf(run, 0, 10000).devices[0]!.kernels_ns).toBe(1500);
  expect(search(run, "kind:lost").events.map(({ i }) => i)).toEqual([1]);
  expect(spokenEvent(run, { lane: run.lanes[0]!, i: 1 })).toContain("not recorded");
});
