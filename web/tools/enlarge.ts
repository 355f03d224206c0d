// A page's events again and again, with jitter, until there are as many as wanted: invented times would compress too well.
import { decode } from "../src/codec/decode.ts";
import type { LaneEntry } from "../src/page/contents.ts";
import type { Report } from "../src/page/report.ts";
import { type PlainEvent, packed, planesOf } from "./encode.ts";
import type { PageData } from "./from_chrome.ts";

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

export async function eventsOf(lane: LaneEntry, data: PageData): Promise<PlainEvent[]> {
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

/** Without predicted lanes. `rows`: at least so many lanes, the recording's once more as those of further devices. */
export async function enlarged(
  data: PageData,
  report: Report,
  count: number,
  rows = 0,
): Promise<PageData> {
  const recorded = data.contents.lanes.filter((lane) => lane.fix === undefined);
  const original = await Promise.all(recorded.map((lane) => eventsOf(lane, data)));
  const total = original.reduce((sum, events) => sum + events.length, 0);
  const times = Math.ceil(count / total);
  const period = report.span_ns + 100000;
  const blocks: string[] = [];
  const lanes = recorded.map((lane, l) => {
    const written = planesOf(
      repeated(original[l]!, times, period, original[l]!.length),
      lane.columns,
      blocks.length,
    );
    for (const block of written) blocks.push(packed(block.bytes));
    return { ...lane, blocks: written.map((block) => block.header) };
  });
  // More rows than the recording has: the same lanes once more, so that a screen of 24 or 40 rows can be measured.
  for (let k = 0; lanes.length < rows; k++)
    lanes.push({ ...lanes[k % data.contents.lanes.length]!, device: 1 + k });
  const span = times * period;
  const seen = new Set<number>();
  for (const lane of lanes)
    lane.blocks = lane.blocks.map((block) => {
      const id = seen.has(block.id) ? blocks.push(blocks[block.id]!) - 1 : block.id;
      seen.add(id);
      return { ...block, id };
    });
  return { contents: { ...data.contents, lanes, span_ns: span }, blocks };
}
