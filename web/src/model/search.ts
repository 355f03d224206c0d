// Search over the whole run: words of the name, `line:`, `>1ms`, `<20us`, `dir:d2h`, `kind:pageable`. All must match.
import { className } from "../format.ts";
import type { Lane } from "./lane.ts";
import type { EventRef, Run } from "./run.ts";

export interface Query {
  words: string[];
  line: string | null;
  longerThan: number;
  shorterThan: number;
  direction: string | null;
  kind: string | null;
}

const DIRECTIONS: Record<string, string> = {
  h2d: "copy_up",
  d2h: "copy_down",
  p2p: "copy_peer",
  d2d: "copy_device",
};
const UNITS: Record<string, number> = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };

export function parseQuery(text: string): Query {
  const query: Query = {
    words: [],
    line: null,
    longerThan: -1,
    shorterThan: Number.POSITIVE_INFINITY,
    direction: null,
    kind: null,
  };
  for (const word of text.toLowerCase().split(/\s+/).filter(Boolean)) {
    const limit = /^([<>])(\d+(?:\.\d+)?)(ns|us|ms|s)$/.exec(word);
    const [key, value] = word.split(/:(.*)/s);
    if (limit?.[1] === ">") query.longerThan = Number(limit[2]) * UNITS[limit[3]!]!;
    else if (limit) query.shorterThan = Number(limit[2]) * UNITS[limit[3]!]!;
    else if (key === "line" && value) query.line = value;
    else if (key === "dir" && value && Object.hasOwn(DIRECTIONS, value)) query.direction = value;
    else if (key === "kind" && value) query.kind = value;
    else query.words.push(word);
  }
  return query;
}

export interface Hits {
  /** At most `limit`, in the order of time. */
  events: EventRef[];
  /** How many there are in all. */
  count: number;
}

export function search(run: Run, text: string, limit = 10000): Hits {
  const query = parseQuery(text);
  const hits: Hits = { events: [], count: 0 };
  if (text.trim() === "") return hits;
  const sites = matchingSites(run, query);
  for (const lane of run.lanes) {
    if (lane.entry.fix !== undefined) continue;
    if (query.direction && lane.entry.kind !== DIRECTIONS[query.direction]) continue;
    searchLane(run, lane, query, sites, hits, limit);
  }
  hits.events.sort((a, b) => a.lane.start[a.i]! - b.lane.start[b.i]!);
  return hits;
}

/** 1 for each site (by its number in events) that the words or `line:` find; null where the query asks for neither. */
function matchingSites(run: Run, query: Query): { line: Uint8Array | null; words: Uint8Array[] } {
  const texts = ["", ...run.contents.sites.map((site) => site.site.toLowerCase())];
  const find = (part: string) => Uint8Array.from(texts, (text) => Number(text.includes(part)));
  return { line: query.line === null ? null : find(query.line), words: query.words.map(find) };
}

function searchLane(
  run: Run,
  lane: Lane,
  query: Query,
  sites: { line: Uint8Array | null; words: Uint8Array[] },
  hits: Hits,
  limit: number,
): void {
  const names = (lane.entry.names ?? []).map((index) =>
    (run.contents.strings[index] ?? "").toLowerCase(),
  );
  const nameHits = query.words.map((word) =>
    Uint8Array.from(names, (name) => Number(name.includes(word))),
  );
  const kinds = new Uint8Array(256);
  if (query.kind)
    for (let c = 0; c < 256; c++)
      kinds[c] = Number(className(c).includes(query.kind.replaceAll(" ", "_")));
  for (let i = 0; i < lane.count; i++) {
    const ns = lane.duration(i);
    if (ns <= query.longerThan || ns >= query.shorterThan) continue;
    if (query.kind && !kinds[lane.eventClass[i]!]) continue;
    const site = lane.site[i] ?? 0;
    if (sites.line && !sites.line[site]) continue;
    if (!nameHits.every((ofWord, w) => ofWord[lane.name[i] ?? 0] || sites.words[w]![site]))
      continue;
    hits.count++;
    if (hits.events.length < limit) hits.events.push({ lane, i });
  }
}
