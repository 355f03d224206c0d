// How large and how fast a page of many events is, in Chromium:
//   node tools/run.mjs tools/bench.ts RUN.tpk EVENTS [--turnpike COMMAND] [--lanes N] [--chromium PATH]
// The events are those of a real recording, repeated with jitter: invented times would compress too well.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chromium, type Page } from "playwright-core";
import { decode } from "../src/codec/decode.ts";
import type { LaneEntry } from "../src/page/contents.ts";
import type { Report } from "../src/page/report.ts";
import { type PlainEvent, packed, planesOf } from "./encode.ts";
import { fromChrome, type PageData } from "./from_chrome.ts";
import { pageOf } from "./write_page.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    turnpike: { type: "string", default: "turnpike" },
    lanes: { type: "string", default: "0" },
    chromium: { type: "string", default: "/usr/bin/chromium" },
  },
});
const [run, wanted] = positionals as [string, string];

let state = 1;
function random(): number {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 4294967296;
}

/** The lane's events again and again, each gap and duration changed by up to 300 ns and 2 %. */
function repeated(
  events: PlainEvent[],
  times: number,
  period: number,
  stride: number,
): PlainEvent[] {
  const all: PlainEvent[] = [];
  let end = 0;
  for (let k = 0; k < times; k++)
    for (const event of events) {
      const jitter = (value: number) =>
        Math.max(0, Math.round(value * (0.98 + 0.04 * random()) + 300 * random()));
      const start = Math.max(end, event.start + k * period + Math.round(300 * random()));
      const duration = jitter(event.duration);
      const link =
        event.link === undefined || event.link === 0xffffffff
          ? 0xffffffff
          : (event.link + k * stride) >>> 0;
      all.push({ ...event, start, duration, link });
      end = start + duration;
    }
  return all;
}

async function eventsOf(lane: LaneEntry, data: PageData): Promise<PlainEvent[]> {
  const events: PlainEvent[] = [];
  for (const header of lane.blocks) {
    const columns = await decode({
      text: data.blocks[header.id]!,
      lane: lane.title,
      columns: lane.columns,
      header,
    });
    for (let i = 0; i < header.count; i++)
      events.push(
        Object.fromEntries(lane.columns.map((c) => [c, columns[c]![i]!])) as unknown as PlainEvent,
      );
  }
  return events;
}

async function enlarged(data: PageData, report: Report, count: number): Promise<PageData> {
  const original = await Promise.all(data.contents.lanes.map((lane) => eventsOf(lane, data)));
  const total = original.reduce((sum, events) => sum + events.length, 0);
  const times = Math.ceil(count / total);
  const period = report.span_ns + 100000;
  const blocks: string[] = [];
  const lanes = data.contents.lanes.map((lane, l) => {
    const written = planesOf(
      repeated(original[l]!, times, period, original[l]!.length),
      lane.columns,
      blocks.length,
    );
    for (const block of written) blocks.push(packed(block.bytes));
    return { ...lane, blocks: written.map((block) => block.header) };
  });
  // More rows than the recording has: the same lanes once more, so that a screen of 24 or 40 rows can be measured.
  const rows = Number(values.lanes);
  for (let k = 0; lanes.length < rows; k++)
    lanes.push({ ...lanes[k % data.contents.lanes.length]!, device: 1 + k });
  report.span_ns = times * period;
  const seen = new Set<number>();
  for (const lane of lanes)
    lane.blocks = lane.blocks.map((block) => {
      const id = seen.has(block.id) ? blocks.push(blocks[block.id]!) - 1 : block.id;
      seen.add(id);
      return { ...block, id };
    });
  return { contents: { ...data.contents, lanes, span_ns: report.span_ns }, blocks };
}

interface Times {
  median: number;
  p95: number;
}

async function framesOf(page: Page, keys: string[]): Promise<Times> {
  await page.evaluate(() => performance.clearMeasures());
  for (const key of keys) {
    await page.keyboard.press(key);
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
  }
  const all = await page.evaluate(() =>
    performance.getEntriesByName("turnpike-frame").map((entry) => entry.duration),
  );
  all.sort((a, b) => a - b);
  const at = (share: number) => Number((all[Math.floor(all.length * share)] ?? 0).toFixed(1));
  return { median: at(0.5), p95: at(0.95) };
}

const output = (...args: string[]) =>
  JSON.parse(execFileSync(values.turnpike, args, { encoding: "utf8", maxBuffer: 2 ** 29 }));
const report: Report = output("report", run, "--json");
const small = fromChrome(output("export", run, "--to", "chrome", "-o", "-"), report);
const data = await enlarged(small, report, Number(wanted));
const page = pageOf(data, report, {
  script: readFileSync("dist/report.js", "utf8"),
  style: readFileSync("dist/report.css", "utf8"),
});
const events = data.contents.lanes
  .flatMap((lane) => lane.blocks)
  .reduce((sum, block) => sum + block.count, 0);
const folder = mkdtempSync(join(tmpdir(), "turnpike-bench-"));
const file = join(folder, "page.html");
writeFileSync(file, page);
const browser = await chromium.launch({ executablePath: values.chromium, args: ["--no-sandbox"] });
try {
  const firstFrames: number[] = [];
  let tab: Page | undefined;
  for (let k = 0; k < 3; k++) {
    await tab?.close();
    tab = await browser.newPage({ viewport: { width: 1900, height: 900 } });
    await tab.goto(`file://${file}`);
    await tab.waitForFunction(
      () => performance.getEntriesByName("turnpike-frame").length > 0,
      undefined,
      { timeout: 120000 },
    );
    firstFrames.push(
      await tab.evaluate(
        () =>
          performance.getEntriesByName("turnpike-frame")[0]!.startTime +
          performance.getEntriesByName("turnpike-frame")[0]!.duration,
      ),
    );
  }
  await tab!.focus(".surface");
  const pans = Array.from({ length: 30 }, (_, i) => (i % 6 < 3 ? "d" : "a"));
  const near = await framesOf(tab!, pans);
  await tab!.keyboard.press("0");
  const zoomedOut = await framesOf(
    tab!,
    Array.from({ length: 30 }, (_, i) => (i % 2 ? "s" : "w")),
  );
  for (let i = 0; i < 8; i++) await tab!.keyboard.press("w");
  const middle = await framesOf(tab!, pans);
  await tab!.keyboard.press("0");
  const allLevels = await framesOf(
    tab!,
    Array.from({ length: 40 }, () => "w"),
  );
  const heap = await tab!.evaluate(
    () => (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize,
  );
  const bytes = data.blocks.reduce((sum, text) => sum + text.length, 0);
  console.log(
    JSON.stringify(
      {
        events,
        lanes: data.contents.lanes.length,
        page_bytes: page.length,
        bytes_per_event: Number((bytes / events).toFixed(2)),
        first_frame_ms: Math.round(Math.min(...firstFrames)),
        first_frame_ms_all: firstFrames.map(Math.round),
        heap_bytes_per_event: Number((heap / events).toFixed(1)),
        frame_ms: { near, middle, zoomed_out: zoomedOut, all_levels: allLevels },
      },
      null,
      2,
    ),
  );
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
