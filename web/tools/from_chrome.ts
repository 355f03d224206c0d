// Makes the data of a page from what `turnpike export --to chrome` and `turnpike report --json` print, so that the page can be
// tried on real recordings. src/report/html will write the data itself, with causes from the dependency graph: the causes that
// this file gives to idle stretches come from a local rule and are only good enough to look at.
import { CLASSES, type ClassName, type ColumnName, NO_LINK } from "../src/format.ts";
import type { Contents, LaneEntry, SiteEntry } from "../src/page/contents.ts";
import type { Report } from "../src/page/report.ts";
import { ALL_COLUMNS, type PlainEvent, packed, planesOf } from "./encode.ts";
import { headlineOf, openingWindow } from "./headline.ts";
import { familyOf } from "./kernel_family.ts";

interface ChromeEvent {
  ph: string;
  cat?: string;
  pid: number;
  tid: number;
  name: string;
  ts: number;
  dur: number;
  id?: number;
  args?: Record<string, unknown>;
}

export interface PageData {
  contents: Contents;
  /** The text of each block's element, by id. */
  blocks: string[];
}

interface Work extends PlainEvent {
  cause?: Work;
  label: string;
  event?: ChromeEvent;
  number?: number;
}

interface Row {
  entry: Omit<LaneEntry, "blocks" | "names">;
  events: Work[];
}

const ns = (us: number) => Math.round(us * 1000);

export function fromChrome(trace: { traceEvents: ChromeEvent[] }, report: Report): PageData {
  const converter = new Converter(trace.traceEvents, report);
  return converter.page();
}

class Converter {
  private readonly processNames = new Map<number, string>();
  private readonly threadNames = new Map<string, string>();
  private readonly groups: string[] = [];
  private readonly groupOfProcess = new Map<string, number>();
  private readonly sites: SiteEntry[] = [];
  private readonly siteIndex = new Map<string, number>();
  private readonly strings: string[] = [];
  private readonly stringIndex = new Map<string, number>();
  private readonly byKey = new Map<string, Work[]>();

  constructor(
    events: ChromeEvent[],
    private readonly report: Report,
  ) {
    for (const event of events) if (event.ph === "M") this.learnName(event);
    const atStart = new Map<string, Work>();
    for (const event of events) {
      if (event.ph !== "X") continue;
      const work = this.workOf(event);
      const key = `${event.pid}/${event.tid}/${event.cat}`;
      const list = this.byKey.get(key) ?? [];
      list.push(work);
      this.byKey.set(key, list);
      atStart.set(`${event.pid}/${event.tid}/${event.ts}`, work);
    }
    const causes = new Map<number, Work | undefined>();
    for (const event of events) {
      const work = atStart.get(`${event.pid}/${event.tid}/${event.ts}`);
      if (event.ph === "s") causes.set(event.id!, work);
      const cause = event.ph === "f" ? causes.get(event.id!) : undefined;
      if (!work || !cause) continue;
      work.cause = cause;
      // A call that returns only after its copy held the CPU all that time.
      if (
        event.cat === "copy" &&
        cause.duration > 100000 &&
        cause.start + cause.duration >= work.start + work.duration
      )
        cause.class = CLASSES.blocked;
    }
  }

  page(): PageData {
    const rows = [...this.stepsAndRanges(), ...this.hostThreads(), ...this.devices()];
    let number = 0;
    for (const row of rows) for (const work of row.events) work.number = number++;
    const blocks: string[] = [];
    const lanes = rows.map((row) => this.laneOf(row, blocks));
    lanes.push(...this.memory());
    const kernels = [...this.worksOf("kernel")]
      .flatMap(([, , works]) => works.map((work) => work.start))
      .sort((a, b) => a - b);
    const steps = rows.find((row) => row.entry.kind === "steps")?.events ?? [];
    const { headline, details } = headlineOf(this.report);
    return {
      contents: {
        version: 1,
        headline,
        details,
        span_ns: this.report.span_ns,
        window: openingWindow(steps, this.report, kernels[Math.floor(kernels.length * 0.7)] ?? 0),
        groups: this.groups,
        strings: this.strings,
        sites: this.sites,
        lanes,
        findings: this.report.findings.map((finding) => {
          const site = finding.site === null ? undefined : this.siteIndex.get(finding.site);
          return site === undefined ? {} : { site };
        }),
        left_out: [],
        no_source: "The recording's source files are not at hand.",
      },
      blocks,
    };
  }

  private learnName(event: ChromeEvent): void {
    const name = String(event.args?.name);
    if (event.name === "process_name") this.processNames.set(event.pid, name);
    else if (event.name === "thread_name") this.threadNames.set(`${event.pid}/${event.tid}`, name);
  }

  private workOf(event: ChromeEvent): Work {
    const start = ns(event.ts);
    const work: Work = {
      start,
      duration: Math.max(0, ns(event.ts + event.dur) - start),
      class: CLASSES[classOf(event)],
      site: this.siteNumber(event),
      label: event.name,
      event,
    };
    if (typeof event.args?.bytes === "number") work.bytes = event.args.bytes;
    return work;
  }

  private siteNumber({ args }: ChromeEvent): number {
    const site = args?.site;
    if (typeof site !== "string") return 0;
    let index = this.siteIndex.get(site);
    if (index === undefined) {
      index = this.sites.length;
      this.siteIndex.set(site, index);
      const entry: SiteEntry = { site };
      const stack = (args?.stack as string[] | undefined) ?? [];
      const [, file, line] = /^.*\((.*):(\d+)\)$/.exec(stack[0] ?? "") ?? [];
      if (file) entry.file = file;
      if (line) entry.line = Number(line);
      if (stack.length > 0) entry.stack = stack;
      if (typeof args?.function === "string") entry.function = args.function;
      this.sites.push(entry);
    }
    return index + 1;
  }

  private stringNumber(text: string): number {
    let index = this.stringIndex.get(text);
    if (index === undefined) {
      index = this.strings.push(text) - 1;
      this.stringIndex.set(text, index);
    }
    return index;
  }

  private groupOf(name: string): number {
    const process = /\(process \d+\)$/.exec(name)?.[0] ?? name;
    let group = this.groupOfProcess.get(process);
    if (group === undefined) {
      group = this.groups.push(name) - 1;
      this.groupOfProcess.set(process, group);
    }
    return group;
  }

  private *worksOf(category: string): Generator<[number, string, Work[]]> {
    for (const [key, works] of this.byKey) {
      const [pid, tid, cat] = key.split("/");
      if (cat === category)
        yield [Number(pid), this.threadNames.get(`${pid}/${tid}`) ?? tid!, works];
    }
  }

  private stepsAndRanges(): Row[] {
    const rows: Row[] = [];
    const stepName = /^nvtx:(.*)$/.exec(this.report.steps?.source ?? "")?.[1];
    for (const [pid, thread, works] of this.worksOf("nvtx")) {
      const group = this.groupOf(this.processNames.get(pid) ?? "");
      const steps = works.filter((work) => work.label === stepName);
      const numbered = withoutOverlap(steps)[0]?.map((work, i) => ({
        ...work,
        label: `step ${i}`,
        class: CLASSES.step,
      }));
      if (numbered)
        rows.push({
          entry: {
            kind: "steps",
            title: "steps",
            group,
            columns: ["start", "duration", "name", "class"],
          },
          events: numbered,
        });
      const ranges = works.filter((work) => work.label !== stepName);
      rows.push(
        ...rowsOf(ranges, {
          kind: "ranges",
          title: thread.replace(/^NVTX of /, "ranges of "),
          group,
          columns: ["start", "duration", "name", "class", "link"],
        }),
      );
    }
    return rows;
  }

  private hostThreads(): Row[] {
    const rows: Row[] = [];
    for (const [pid, thread, works] of this.worksOf("cuda_api")) {
      const id = Number(/\d+/.exec(thread)?.[0]);
      const role = (
        this.report.verdict as { threads?: { thread: number; role: string }[] } | null
      )?.threads?.find((entry) => entry.thread === id)?.role;
      rows.push(
        ...rowsOf(works, {
          kind: "host",
          title: role ? `${role} thread` : thread,
          group: this.groupOf(this.processNames.get(pid) ?? ""),
          columns: ["start", "duration", "name", "class", "site"],
        }),
      );
    }
    return rows.sort(
      (a, b) => Number(b.entry.title.startsWith("main")) - Number(a.entry.title.startsWith("main")),
    );
  }

  private devices(): Row[] {
    const rows: Row[] = [];
    for (const [pid, name] of this.processNames) {
      const device = /^GPU (\d+)/.exec(name);
      if (device) rows.push(...this.device(pid, Number(device[1]), this.groupOf(name)));
    }
    return rows;
  }

  private device(pid: number, device: number, group: number): Row[] {
    const kernels: Work[] = [];
    const copies: Work[] = [];
    const streams: Row[] = [];
    for (const [owner, stream, works] of this.worksOf("kernel")) {
      if (owner !== pid) continue;
      kernels.push(...works);
      const columns: ColumnName[] = ["start", "duration", "name", "class", "link"];
      streams.push(
        ...rowsOf(works, { kind: "stream", title: `${stream}: kernels`, group, device, columns }),
      );
    }
    for (const category of ["copy", "memset"])
      for (const [owner, , works] of this.worksOf(category))
        if (owner === pid) copies.push(...works);
    const busy = union(kernels);
    for (const copy of copies) copy.exposed = copy.duration - overlapWith(busy, copy);
    const lanes: [LaneEntry["kind"], string, (work: Work) => boolean][] = [
      ["copy_up", "copies CPU > GPU", (work) => / h2d /.test(work.label)],
      ["copy_down", "copies GPU > CPU", (work) => / d2h /.test(work.label)],
      ["copy_peer", "copies GPU > GPU", (work) => / p2p /.test(work.label)],
      ["copy_device", "memset, copies inside", (work) => !/ (h2d|d2h|p2p) /.test(work.label)],
    ];
    const copyRows = lanes.flatMap(([kind, title, belongs]) =>
      rowsOf(copies.filter(belongs), { kind, title, group, device, columns: ALL_COLUMNS }),
    );
    const state: Row = {
      entry: {
        kind: "state",
        title: `GPU ${device}: what it waits for`,
        group,
        device,
        columns: ["start", "duration", "name", "class", "link", "site"],
      },
      events: this.idleOf([...kernels, ...copies], busy),
    };
    return [state, ...streams, ...copyRows];
  }

  /** The stretches without kernels, with a guess of their cause: who kept the thread that launched the next work. */
  private idleOf(works: Work[], kernels: [number, number][]): Work[] {
    works.sort((a, b) => a.start - b.start);
    const blocked = [...this.worksOf("cuda_api")]
      .flatMap(([, , calls]) => calls)
      .filter((call) => call.class === CLASSES.blocked)
      .sort((a, b) => a.start - b.start);
    const idle: Work[] = [];
    let end = works[0]?.start ?? 0;
    let lastCause: Work | undefined;
    for (const work of works) {
      if (work.start > end) {
        const launched = work.cause ? work.cause.start + work.cause.duration : work.start;
        const from = Math.max(0, end - 50000);
        const held = blocked.findLast((call) => {
          const callEnd = call.start + call.duration;
          return callEnd <= launched && callEnd >= from && call.start < work.start;
        });
        // A tiny copy between two gaps does not end what the first one's cause did.
        const cause =
          held ??
          (work.start - end < 400000 && end - (idle.at(-1)?.start ?? 0) < 1e6
            ? lastCause
            : undefined);
        lastCause = held;
        const isCopy = cause?.label.includes("Memcpy");
        const gap: Work = {
          start: end,
          duration: work.start - end,
          class: cause ? (isCopy ? CLASSES.idle_copy : CLASSES.idle_sync) : CLASSES.idle_launch,
          label: cause ? `waits after ${cause.label}` : "no work was issued",
          site: cause?.site ?? work.site ?? 0,
        };
        if (cause) gap.cause = cause;
        idle.push(gap);
      }
      end = Math.max(end, work.start + work.duration);
    }
    for (const work of works) {
      if (work.bytes === undefined || overlapWith(kernels, work) > 0) continue;
      idle.push({
        start: work.start,
        duration: work.duration,
        class: CLASSES.copies_only,
        label: "copies, no kernel",
        site: work.site ?? 0,
        cause: work,
      });
    }
    return withoutOverlap(idle)[0] ?? [];
  }

  private laneOf({ entry, events }: Row, blocks: string[]): LaneEntry {
    const names = new Map<number, number>();
    for (const work of events) {
      const text = this.stringNumber(work.label);
      work.name = names.get(text) ?? names.size;
      names.set(text, work.name);
      work.link = work.cause?.number ?? NO_LINK;
    }
    const written = planesOf(events, entry.columns, blocks.length);
    for (const block of written) blocks.push(packed(block.bytes));
    return { ...entry, names: [...names.keys()], blocks: written.map((block) => block.header) };
  }

  private memory(): LaneEntry[] {
    const points = this.report.memory?.points ?? [];
    if (!points.some((point) => point.device_bytes > 0)) return [];
    const curve = points.map((point): [number, number] => [point.time_ns, point.device_bytes]);
    return [{ kind: "memory", title: "GPU memory", group: 0, columns: [], blocks: [], curve }];
  }
}

function classOf(event: ChromeEvent): ClassName {
  switch (event.cat) {
    case "kernel":
      return familyOf(event.name);
    case "memset":
      return "memset";
    case "copy": {
      const kinds = [event.args?.from, event.args?.to];
      if (event.name.includes(" d2d ")) return "device_copy";
      if (event.name.includes(" p2p ")) return "peer";
      if (kinds.includes("pageable")) return "pageable";
      if (kinds.includes("managed")) return "managed";
      return kinds.includes("pinned") ? "pinned" : "unknown_memory";
    }
    case "cuda_api":
      if (/Synchronize|EventQuery/.test(event.name)) return "blocked";
      if (/Memcpy|Memset/.test(event.name))
        return /Async/.test(event.name) ? "copy_call" : "blocked";
      return /Launch/.test(event.name) ? "launch" : "call";
    default:
      return "range";
  }
}

/** Spreads events that overlap over several rows: each goes into the first row that is free. */
function withoutOverlap(works: Work[]): Work[][] {
  const rows: Work[][] = [];
  const ends: number[] = [];
  const sorted = [...works].sort((a, b) => a.start - b.start || b.duration - a.duration);
  for (const work of sorted) {
    let row = ends.findIndex((end) => end <= work.start);
    if (row < 0) row = rows.push([]) - 1;
    rows[row]!.push(work);
    ends[row] = work.start + work.duration;
  }
  return rows;
}

function rowsOf(works: Work[], entry: Row["entry"]): Row[] {
  return withoutOverlap(works).map((events, depth) => ({
    entry: depth > 0 ? { ...entry, depth } : entry,
    events,
  }));
}

function union(works: Work[]): [number, number][] {
  const spans: [number, number][] = [];
  for (const work of [...works].sort((a, b) => a.start - b.start)) {
    const last = spans.at(-1);
    const end = work.start + work.duration;
    if (last && work.start <= last[1]) last[1] = Math.max(last[1], end);
    else spans.push([work.start, end]);
  }
  return spans;
}

function overlapWith(spans: [number, number][], work: Work): number {
  const end = work.start + work.duration;
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle]![1] > work.start) high = middle;
    else low = middle + 1;
  }
  let sum = 0;
  for (let i = low; i < spans.length && spans[i]![0] < end; i++)
    sum += Math.min(end, spans[i]![1]) - Math.max(work.start, spans[i]![0]);
  return sum;
}
