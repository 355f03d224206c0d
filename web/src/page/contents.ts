// The table of contents: what lanes and blocks the page has, and the texts that events refer to. web/README.md explains it.
import type { BlockHeader } from "../codec/block.ts";
import type { ColumnName, LaneKind } from "../format.ts";
import { LANE_KINDS, LIMITS, VERSION, widthOf } from "../format.ts";

export interface LaneEntry {
  kind: LaneKind;
  title: string;
  /** Index into `groups`. */
  group: number;
  /** Row below the lane's first one, where its events overlap: they were put into several lanes. */
  depth?: number;
  device?: number;
  /** The finding whose fix this lane predicts. Absent for what was recorded. */
  fix?: number;
  columns: ColumnName[];
  /** Indices into `strings`; the column `name` points into it. */
  names?: number[];
  blocks: BlockHeader[];
  /** Lanes of kind `memory`: [ns, bytes] at each change. */
  curve?: [number, number][];
}

export interface SiteEntry {
  /** As reports print it: "train.py:42". */
  site: string;
  file?: string;
  line?: number;
  function?: string;
  /** Innermost first. */
  stack?: string[];
}

/** Lines without a gap; a file may have several. */
export interface SourceExcerpt {
  file: string;
  first_line: number;
  lines: string[];
}

export interface Fix {
  before: string[];
  after: string[];
  /** The line that the program needs besides, such as an import. */
  needs?: string;
}

export interface Contents {
  version: number;
  /** The verdict in one sentence, and what it rests on. */
  headline: string;
  details: string;
  /** Why the longest wait of the CPU is no cause, where it looks like one. */
  wait_remark?: string;
  span_ns: number;
  /** Where the timeline opens: two or three steps around the median one. */
  window: [number, number];
  /** Processes: "rank 0: python3 train.py (process 423)". */
  groups: string[];
  strings: string[];
  sites: SiteEntry[];
  lanes: LaneEntry[];
  source?: SourceExcerpt[];
  /** The reason if the source text is missing. */
  no_source?: string;
  /** For each finding of the report, its site as an index into `sites`, and its fix as text. */
  findings: { site?: number; fix?: Fix }[];
  /** Sentences about what this file leaves out. */
  left_out: string[];
  /** Two runs, before and after a change: the groups from this one on are of the run after it. */
  after_group?: number;
}

/** Throws with a reason if the page must not trust this table. */
export function checkContents(value: unknown): Contents {
  const contents = value as Contents;
  if (contents?.version !== VERSION)
    throw new Error(`The data has version ${contents?.version}; this page reads ${VERSION}`);
  for (const key of ["groups", "strings", "sites", "lanes", "findings", "left_out"] as const)
    if (!Array.isArray(contents[key])) throw new Error(`The table of contents lacks "${key}"`);
  if (contents.sites.length > LIMITS.sites) throw new Error("The data has too many sites");
  let events = 0;
  for (const lane of contents.lanes) {
    if (!LANE_KINDS.includes(lane.kind)) throw new Error(`Unknown kind of lane: ${lane.kind}`);
    for (const column of lane.columns)
      if (widthOf(column) === undefined) throw new Error(`Unknown column: ${column}`);
    for (const block of lane.blocks) events += block.count;
  }
  if (!(events <= LIMITS.events)) throw new Error(`The data has ${events} events, too many`);
  return contents;
}
