// Which rows the timeline has, from top to bottom, and where each lies.
import type { LaneKind } from "./format.ts";
import type { Lane } from "./model/lane.ts";
import type { Run } from "./model/run.ts";
import type { LaneEntry } from "./page/contents.ts";

export interface Row {
  /** The lane; none in the heading of a process. */
  lane: Lane | null;
  title: string;
  y: number;
  height: number;
  /** Belongs to the row above: events that overlap there, or the same lane with a fix. */
  isSubRow: boolean;
}

export interface Layout {
  rows: Row[];
  height: number;
}

const ORDER: LaneKind[] = [
  "steps",
  "ranges",
  "host",
  "python",
  "state",
  "stream",
  "copy_up",
  "copy_down",
  "copy_peer",
  "copy_device",
  "memory",
];
const HEIGHTS: Record<LaneKind, number> = {
  steps: 24,
  ranges: 18,
  host: 32,
  python: 16,
  state: 32,
  stream: 36,
  copy_up: 20,
  copy_down: 20,
  copy_peer: 20,
  copy_device: 20,
  memory: 44,
};
const SUB_ROW_HEIGHT = 14;
/** Rows of a comparison are lower, because both runs should be seen at once. */
const COMPARED = 0.65;
const GAP = 8;
const GAP_COMPARED = 4;
const GROUP_HEIGHT = 22;

export interface LayoutChoice {
  /** Indices of lanes that the user hid. */
  hidden: ReadonlySet<number>;
  /** The finding whose predicted lanes are shown below the recorded ones. */
  fix: number | null;
}

export function layoutOf(run: Run, { hidden, fix }: LayoutChoice): Layout {
  const rows: Row[] = [];
  let y = 0;
  const gap = run.isComparison ? GAP_COMPARED : GAP;
  const heightOf = (kind: LaneKind) =>
    run.isComparison
      ? Math.max(SUB_ROW_HEIGHT, Math.round(HEIGHTS[kind] * COMPARED))
      : HEIGHTS[kind];
  const add = (lane: Lane | null, title: string, height: number, isSubRow: boolean) => {
    y += isSubRow ? 2 : gap;
    rows.push({ lane, title, y, height, isSubRow });
    y += height;
  };
  const groups = run.contents.groups;
  groups.forEach((group, index) => {
    const lanes = run.lanes.filter(
      ({ entry, index: number }) =>
        entry.group === index &&
        !hidden.has(number) &&
        (entry.fix === undefined || entry.fix === fix),
    );
    if (lanes.length === 0) return;
    if (groups.length > 1) add(null, group, GROUP_HEIGHT, false);
    for (const lane of inOrder(lanes, run.isComparison)) {
      const { entry } = lane;
      const isGhost = entry.fix !== undefined;
      const isSubRow = isGhost || entry.kind === "python" || (entry.depth ?? 0) > 0;
      const height = isSubRow
        ? Math.min(SUB_ROW_HEIGHT, heightOf(entry.kind))
        : heightOf(entry.kind);
      add(lane, titleOf(entry), height, isSubRow);
    }
  });
  return { rows, height: y + gap };
}

function titleOf(entry: LaneEntry): string {
  if (entry.fix !== undefined) return "with the fix";
  if ((entry.depth ?? 0) > 0) return "";
  return entry.kind === "python" ? "its Python" : entry.title;
}

/** Of a comparison, this many threads of a process stand above its devices; the others below. */
const THREADS_ON_TOP = 2;

/** By device, then kind, then as written; predicted lanes after the recorded ones of the same title. */
function inOrder(lanes: Lane[], isComparison: boolean): Lane[] {
  const firstOfTitle = new Map<string, number>();
  // The Python of a thread stands below the thread's calls.
  const kindOf = ({ entry }: Lane) => (entry.kind === "python" ? "host" : entry.kind);
  const key = (lane: Lane) => `${kindOf(lane)}/${lane.entry.title}`;
  for (const lane of lanes)
    if (!firstOfTitle.has(key(lane))) firstOfTitle.set(key(lane), lane.index);
  const threads = lanes.filter(({ entry }) => entry.kind === "host" && !entry.depth);
  const low = isComparison
    ? new Set(threads.slice(THREADS_ON_TOP).map(({ entry }) => entry.title))
    : new Set<string>();
  const block = (lane: Lane) => {
    const { entry } = lane;
    if (entry.device !== undefined) return entry.device;
    if (entry.kind === "memory") return 1e6;
    return kindOf(lane) === "host" && low.has(entry.title) ? 1e5 : -1;
  };
  const rank = (lane: Lane) => [
    block(lane),
    ORDER.indexOf(kindOf(lane)),
    firstOfTitle.get(key(lane))!,
    lane.entry.kind === "python" ? 1 : 0,
    lane.entry.fix === undefined ? 0 : 1,
    lane.entry.depth ?? 0,
    lane.index,
  ];
  return [...lanes].sort((a, b) => {
    const [left, right] = [rank(a), rank(b)];
    const different = left.findIndex((value, i) => value !== right[i]);
    return different < 0 ? 0 : left[different]! - right[different]!;
  });
}

/** The row at this height, or undefined between rows. */
export function rowAt(layout: Layout, y: number): Row | undefined {
  return layout.rows.find((row) => y >= row.y && y < row.y + row.height);
}
