// Lanes and runs for tests.
import { readBlock } from "../../src/codec/block.ts";
import { type LaneKind, NO_LINK } from "../../src/format.ts";
import { Run } from "../../src/model/run.ts";
import type { Contents, LaneEntry } from "../../src/page/contents.ts";
import type { Report } from "../../src/page/report.ts";
import { ALL_COLUMNS, type PlainEvent, planesOf } from "../../tools/encode.ts";
import type { Random } from "./random.ts";

export interface PlainLane extends Partial<LaneEntry> {
  kind: LaneKind;
  events: PlainEvent[];
}

export const EMPTY_REPORT: Report = {
  schema: 1,
  used_gpu: true,
  source: {
    kind: "turnpike",
    program: "python3 train.py",
    detail: "full",
    devices: [],
    versions: {},
    notes: [],
  },
  span_ns: 0,
  steps: null,
  verdict: null,
  memory: null,
  sites: [],
  sync_sites: [],
  lines: [],
  findings: [],
  saving_pct_all: null,
  losses: {},
  loss_sentences: {},
};

/** A run whose lanes hold these events. */
export function runOf(
  lanes: PlainLane[],
  contents: Partial<Contents> = {},
  report: Partial<Report> = {},
): Run {
  const blocks = lanes.map((lane) => planesOf(lane.events, ALL_COLUMNS));
  const entries = lanes.map(({ events: _, ...lane }, i) => ({
    title: lane.kind,
    group: 0,
    names: [0],
    ...lane,
    columns: ALL_COLUMNS,
    blocks: blocks[i]!.map((block) => block.header),
  }));
  const run = new Run(
    {
      version: 1,
      headline: "",
      details: "",
      span_ns: 1e9,
      window: [0, 1e6],
      groups: ["python3 train.py"],
      strings: ["kernel"],
      sites: [],
      findings: [],
      left_out: [],
      ...contents,
      lanes: entries,
    },
    { ...EMPTY_REPORT, ...report },
  );
  blocks.forEach((ofLane, i) => {
    for (const { bytes, header } of ofLane)
      run.lanes[i]!.append(readBlock(bytes, ALL_COLUMNS, header));
  });
  return run;
}

/** Events in bursts, with gaps and lengths of very different sizes. */
export function burstyEvents(count: number, random: Random, classes = [1, 3, 7]): PlainEvent[] {
  const events: PlainEvent[] = [];
  let now = random.below(1000);
  for (let i = 0; i < count; i++) {
    const duration = random.below(10) === 0 ? random.below(50000) : random.below(300);
    const eventClass = classes[random.below(classes.length)]!;
    events.push({ start: now, duration, class: eventClass, link: NO_LINK });
    now += duration + (random.below(40) === 0 ? random.below(400000) : random.below(200));
  }
  return events;
}
