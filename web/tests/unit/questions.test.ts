// Search, sums and costs by line.
import { expect, test } from "vitest";
import { headingsOf, labelsOf } from "../../src/draw/labels.ts";
import { CLASSES, isWaiting, NO_LINK } from "../../src/format.ts";
import { nextOfSite } from "../../src/model/gaps.ts";
import { atOnce, besideWaits } from "../../src/model/line_costs.ts";
import type { Run } from "../../src/model/run.ts";
import { parseQuery, search } from "../../src/model/search.ts";
import { sumsOf } from "../../src/model/sums.ts";
import { stepTime } from "../../src/page/report.ts";
import { spokenWindow } from "../../src/spoken.ts";
import { burstyEvents, EMPTY_REPORT, runOf } from "./lanes.ts";
import { Random } from "./random.ts";

function smallRun() {
  return runOf(
    [
      {
        kind: "host",
        names: [0, 1],
        events: [
          { start: 0, duration: 2000, name: 0, class: CLASSES.launch },
          { start: 5000, duration: 3e6, name: 1, class: CLASSES.blocked, site: 1 },
        ],
      },
      {
        kind: "stream",
        device: 0,
        names: [2],
        events: [{ start: 9000, duration: 500000, name: 0, class: CLASSES.matmul }],
      },
      {
        kind: "copy_down",
        title: "down",
        device: 0,
        names: [3],
        events: [
          { start: 600000, duration: 1000, name: 0, class: CLASSES.pageable, site: 1, bytes: 64 },
          { start: 700000, duration: 9000, name: 0, class: CLASSES.pinned, site: 2, bytes: 4096 },
        ],
      },
      {
        kind: "state",
        device: 0,
        names: [],
        events: [{ start: 509000, duration: 91000, class: CLASSES.idle_sync, site: 1 }],
      },
    ],
    {
      strings: [
        "cudaLaunchKernel",
        "cudaStreamSynchronize",
        "void Ampere_GEMM<1>(float*)",
        "copy d2h",
      ],
      sites: [{ site: "train.py:42" }, { site: "loader.py:7" }],
    },
  );
}

test.each([
  ["gemm", 1],
  ["cuda", 2],
  ["cuda launch", 1],
  [">1ms", 1],
  ["<2us", 1],
  [">1us <3us", 1],
  ["dir:d2h", 2],
  ["kind:pageable", 1],
  ["line:train.py", 3],
  ["line:train.py kind:blocked", 1],
  ["train.py", 3],
  ["copy loader", 1],
  ["nothing of that", 0],
  ["", 0],
  ["   ", 0],
  [".*", 0],
])("search %j finds %i", (text, count) => {
  expect(search(smallRun(), text).count).toBe(count);
});

test("hits come in the order of time, and only so many are kept", () => {
  const hits = search(smallRun(), "line:train.py", 2);
  expect(hits.count).toBe(3);
  expect(hits.events).toHaveLength(2);
  const all = search(smallRun(), "line:train.py").events.map(({ lane, i }) => lane.start[i]);
  expect(all).toEqual([5000, 509000, 600000]);
});

test("what is no filter is a word", () => {
  expect(parseQuery("dir:constructor >x 1>2ms line:").words).toEqual([
    "dir:constructor",
    ">x",
    "1>2ms",
    "line:",
  ]);
});

test("the sums of a stretch are those of a linear scan", () => {
  const random = new Random(11);
  const [first, second, state] = [
    burstyEvents(400, random),
    burstyEvents(400, random),
    burstyEvents(200, random, [48, 50, 54]),
  ];
  const run = runOf([
    { kind: "stream", device: 0, events: first },
    { kind: "stream", device: 0, events: second },
    { kind: "state", device: 0, events: state },
  ]);
  const [from, to] = [40000, 700000];
  const sums = sumsOf(run, from, to).devices[0]!;
  let kernels = 0;
  for (let t = from; t < from + 30001; t++) {
    const busy = [first, second].some((events) =>
      events.some((e) => e.start <= t && t < e.start + e.duration),
    );
    if (busy) kernels++;
  }
  expect(sumsOf(run, from, from + 30001).devices[0]!.kernels_ns).toBe(kernels);
  const idle = state
    .filter((event) => isWaiting(event.class!))
    .reduce(
      (sum, e) => sum + Math.max(0, Math.min(to, e.start + e.duration) - Math.max(from, e.start)),
      0,
    );
  const got = [...sums.idle]
    .filter(([name]) => name.startsWith("idle_"))
    .reduce((sum, [, ns]) => sum + ns, 0);
  expect(got).toBe(idle);
});

test("sums name the lines with the most waiting first", () => {
  const sums = sumsOf(smallRun(), 0, 1e6);
  expect(sums.lines).toEqual([
    { site: 0, blocked_ns: 995000, idle_ns: 91000, copy_ns: 1000, python_ns: 0, bytes: 64 },
    { site: 1, blocked_ns: 0, idle_ns: 0, copy_ns: 9000, python_ns: 0, bytes: 4096 },
  ]);
  expect(sums.devices[0]!.copies.get("down")).toEqual({ count: 2, bytes: 4160, ns: 10000 });
  expect(sums.calls).toBe(1);
});

/** A thread that a line of Python kept busy, and a GPU that waited for another rank inside of its collective. */
function rankRun(): Run {
  const events = (name: number, eventClass: number, site: number, ...spans: [number, number][]) =>
    spans.map(([start, duration]) => ({
      start,
      duration,
      name,
      class: eventClass,
      link: NO_LINK,
      site,
    }));
  return runOf(
    [
      { kind: "host", title: "main", events: events(0, CLASSES.launch, 0, [0, 100]) },
      {
        kind: "python",
        title: "main",
        events: events(0, CLASSES.python, 1, [100, 400], [600, 200]),
      },
      {
        kind: "state",
        device: 0,
        events: [
          ...events(0, CLASSES.idle_rank, 0, [200, 300]),
          ...events(0, CLASSES.idle_launch, 2, [500, 50]),
        ],
      },
    ],
    {
      strings: ["waits for rank 1 in all-reduce"],
      sites: [{ site: "train.py:7" }, { site: "train.py:9" }],
    },
  );
}

test("Python and waits for a rank are found, counted and said", () => {
  const run = rankRun();
  expect(search(run, "kind:python").count).toBe(2);
  expect(search(run, "kind:python line:train.py:9").count).toBe(0);
  expect(search(run, "kind:rank rank 1").count).toBe(1);
  const sums = sumsOf(run, 0, 700);
  expect(sums.calls).toBe(1);
  expect(Object.fromEntries(sums.devices[0]!.idle)).toEqual({ idle_rank: 300, idle_launch: 50 });
  expect(sums.lines).toEqual([
    { site: 1, blocked_ns: 0, idle_ns: 50, copy_ns: 0, python_ns: 0, bytes: 0 },
    { site: 0, blocked_ns: 0, idle_ns: 0, copy_ns: 0, python_ns: 500, bytes: 0 },
  ]);
  expect(spokenWindow(run, 0, 1000)).toContain("GPU 0 waits 35\u00a0% of it.");
  expect(nextOfSite(run, 0, 0, 1)).toBeUndefined();
  expect(labelsOf(run, { lane: run.lanes[2]!, i: 0 })).toEqual([
    "waits for rank 1 in all-reduce, 300\u00a0ns",
    "waits for rank 1 in all-reduce",
    "waits 300\u00a0ns",
    "R",
  ]);
});

test("a call that is its own place is named once", () => {
  const event = { start: 0, duration: 100, name: 0, class: CLASSES.copy_call, link: NO_LINK };
  const sites = [{ site: "cudaMemcpyAsync" }, { site: "train.py:3" }];
  const run = runOf(
    [
      {
        kind: "host",
        events: [
          { ...event, site: 1 },
          { ...event, start: 200, site: 2 },
        ],
      },
    ],
    { strings: ["cudaMemcpyAsync"], sites },
  );
  const labels = [0, 1].map((i) => labelsOf(run, { lane: run.lanes[0]!, i }));
  expect(labels).toEqual([["cudaMemcpyAsync"], ["cudaMemcpyAsync  train.py:3", "cudaMemcpyAsync"]]);
});

test("a narrow heading keeps the direction of its copies", () => {
  expect(headingsOf("copies CPU > GPU")).toEqual(["copies CPU > GPU", "CPU > GPU"]);
  expect(headingsOf("copies not recorded")).toEqual(["copies not recorded"]);
});

test("of a line, the copies beside its waits follow them, and no moment counts twice", () => {
  const line = {
    file: "a.py",
    line: 1,
    time_ns: 120,
    waits_ns: 100,
    copies_ns: 50,
    gpu_idle_ns: null,
  };
  expect(besideWaits(line)).toBe(20);
  expect(atOnce(line)).toBe(30);
});

test("a step takes what the GPU takes where the CPU runs ahead", () => {
  const of = (is_host_ahead: boolean, device_median_ns: number | null) => {
    const steps = { count: 3, median_ns: 100, device_median_ns, is_host_ahead, source: "" };
    return stepTime({ ...EMPTY_REPORT, steps });
  };
  expect(of(true, 1700)).toBe(1700);
  expect(of(false, 1700)).toBe(100);
  expect(of(false, null)).toBe(100);
  expect(stepTime(EMPTY_REPORT)).toBeUndefined();
});
