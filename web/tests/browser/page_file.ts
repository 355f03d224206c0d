// Pages for the browser tests: made of invented events, because recordings need the command `turnpike`.
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CLASSES, NO_LINK } from "../../src/format.ts";
import type { Contents, LaneEntry } from "../../src/page/contents.ts";
import type { Finding, Report, TransferSite } from "../../src/page/report.ts";
import { ALL_COLUMNS, type PlainEvent, packed, planesOf } from "../../tools/encode.ts";
import type { PageData } from "../../tools/from_chrome.ts";
import { pageOf } from "../../tools/write_page.ts";

const ROOT = new URL("../../", import.meta.url);

export const program = {
  script: readFileSync(new URL("dist/report.js", ROOT), "utf8"),
  style: readFileSync(new URL("dist/report.css", ROOT), "utf8"),
};

export const STEP_NS = 6e6;
export const STEPS = 20;
/** In each step: when the GPU becomes idle and for how long. */
export const IDLE_FROM_NS = 4.5e6;
export const IDLE_NS = 1e6;
const KERNELS_IN_STEP = 40;

export interface PlainLane {
  entry: Omit<LaneEntry, "columns" | "blocks">;
  events: PlainEvent[];
}

/** A training loop that waits for the GPU once a step. `name` stands wherever the recording's own texts may. */
export function trainingLoop(
  name = "train.py",
  more: PlainLane[] = [],
): { data: PageData; report: Report } {
  const steps: PlainEvent[] = [];
  const host: PlainEvent[] = [];
  const kernels: PlainEvent[] = [];
  const down: PlainEvent[] = [];
  const idle: PlainEvent[] = [];
  const launchesOfStep = KERNELS_IN_STEP + 1;
  for (let s = 0; s < STEPS; s++) {
    const start = s * STEP_NS;
    const firstHost = STEPS + s * launchesOfStep;
    steps.push({ start, duration: STEP_NS, name: s, class: CLASSES.step, link: NO_LINK });
    for (let k = 0; k < KERNELS_IN_STEP; k++) {
      host.push({
        start: start + k * 20000,
        duration: 9000,
        name: 0,
        class: CLASSES.launch,
        link: NO_LINK,
      });
      const at = start + (k * IDLE_FROM_NS) / KERNELS_IN_STEP;
      kernels.push({
        start: at,
        duration: 112000,
        name: 0,
        class: CLASSES.matmul,
        link: firstHost + k,
      });
    }
    const waitEnd = start + IDLE_FROM_NS;
    host.push({
      start: start + 1e6,
      duration: 3.5e6,
      name: 1,
      class: CLASSES.blocked,
      link: NO_LINK,
      site: 1,
    });
    down.push({
      start: waitEnd,
      duration: 2000,
      name: 0,
      class: CLASSES.pageable,
      link: firstHost + KERNELS_IN_STEP,
      site: 1,
      bytes: 4,
      exposed: 2000,
    });
    idle.push({
      start: waitEnd + 2000,
      duration: IDLE_NS,
      name: 0,
      class: CLASSES.idle_sync,
      link: firstHost + KERNELS_IN_STEP,
      site: 1,
    });
  }
  const site = `${name}:42`;
  const strings = [
    "cudaLaunchKernel",
    "cudaStreamSynchronize",
    `void ${name}<1>(float*)`,
    "copy d2h",
    "waits",
  ];
  const stepNames = steps.map((_, i) => strings.push(`step ${i}`) - 1);
  const lanes: PlainLane[] = [
    { entry: { kind: "steps", title: "steps", group: 0, names: stepNames }, events: steps },
    { entry: { kind: "host", title: `main ${name}`, group: 0, names: [0, 1] }, events: host },
    {
      entry: { kind: "state", title: "GPU 0: what it waits for", group: 0, device: 0, names: [4] },
      events: idle,
    },
    {
      entry: { kind: "stream", title: "stream 7: kernels", group: 0, device: 0, names: [2] },
      events: kernels,
    },
    {
      entry: { kind: "copy_down", title: "copies GPU > CPU", group: 0, device: 0, names: [3] },
      events: down,
    },
  ];
  const fixed = idle.slice(0, 1).map((event) => ({ ...event, duration: 1000, link: NO_LINK }));
  lanes.push({
    entry: {
      kind: "state",
      title: "GPU 0: what it waits for",
      group: 0,
      device: 0,
      names: [4],
      fix: 0,
    },
    events: fixed,
  });
  const { entries, blocks } = encode([...lanes, ...more]);
  const contents: Contents = {
    version: 1,
    headline: `Your GPU is idle 17 % of each step. The largest part is one line: ${site}`,
    details: "20 steps, 6.00 ms each (median)",
    span_ns: STEPS * STEP_NS,
    window: [9.5 * STEP_NS, 12 * STEP_NS],
    groups: [`python3 ${name}`],
    strings,
    sites: [{ site, file: `/home/me/${name}`, line: 42, stack: [`step (/home/me/${name}:42)`] }],
    lanes: entries,
    source: [
      {
        file: `/home/me/${name}`,
        first_line: 39,
        lines: ["def step():", `    ${name}`, "    loss.backward()", "    total += loss.item()"],
      },
    ],
    findings: [
      { site: 0, fix: { before: ["total += loss.item()"], after: ["total += loss.detach()"] } },
    ],
    left_out: [],
  };
  return { data: { contents, blocks }, report: reportOf(name, site) };
}

export function encode(lanes: PlainLane[]): { entries: LaneEntry[]; blocks: string[] } {
  const blocks: string[] = [];
  const entries = lanes.map(({ entry, events }) => {
    const written = planesOf(events, ALL_COLUMNS, blocks.length);
    for (const block of written) blocks.push(packed(block.bytes));
    return { ...entry, columns: ALL_COLUMNS, blocks: written.map((block) => block.header) };
  });
  return { entries, blocks };
}

function reportOf(name: string, site: string): Report {
  const finding: Finding = {
    rule: "implicit_sync",
    severity: "warning",
    title: `${name} makes the CPU wait for the GPU`,
    site,
    saving_step_ns: 800000,
    saving_pct: 13.3,
    saving_reason: null,
    superseded_by: null,
    evidence: `once a step at ${name}`,
    advice: "Keep the value on the GPU.",
  };
  const transfer: TransferSite = {
    site,
    file: `/home/me/${name}`,
    line: 42,
    op: name,
    direction: "d2h",
    src_kind: "device",
    dst_kind: "pageable",
    count: 20,
    bytes: 80,
    device_time_ns: 40000,
    host_blocked_ns: 7e7,
    exposed_ns: 40000,
    gpu_idle_ns: 2e7,
    bandwidth_gbps: null,
  };
  return {
    schema: 1,
    used_gpu: true,
    source: {
      kind: "turnpike",
      program: name,
      detail: "full",
      devices: [{ id: 0, name: "GPU" }],
      versions: { torch: "2.11" },
      notes: [name],
    },
    span_ns: STEPS * STEP_NS,
    saving_pct_all: 13.3,
    steps: {
      count: STEPS,
      median_ns: STEP_NS,
      device_median_ns: null,
      is_host_ahead: false,
      source: "nvtx:step",
    },
    verdict: {
      bound_by: "sync",
      gpu_busy_pct: 75,
      gpu_idle_pct: 25,
      exposed_transfer_pct: 0.1,
      why: "",
      idle: {
        copies_pct: 17,
        syncs_pct: 0,
        input_pct: 3,
        launch_pct: 4,
        quiet_pct: 1,
        allocations_pct: 0,
        between_kernels_pct: 0,
        other_devices_pct: 0,
        unrecorded_pct: 0,
      },
    },
    memory: null,
    sites: [transfer],
    sync_sites: [{ ...transfer, api: "cudaStreamSynchronize" }],
    lines: [
      {
        file: `/home/me/${name}`,
        line: 42,
        time_ns: 7e7,
        waits_ns: 7e7,
        copies_ns: 40000,
        gpu_idle_ns: 2e7,
      },
    ],
    findings: [finding],
    losses: {},
    loss_sentences: {},
  };
}

const folder = mkdtempSync(join(tmpdir(), "turnpike-page-"));
let files = 0;

/** Writes a page and returns its address. */
export function written(html: string): string {
  const file = join(folder, `page${files++}.html`);
  writeFileSync(file, html);
  return `file://${file}`;
}

export function writtenLoop(name?: string): string {
  const { data, report } = trainingLoop(name);
  return written(pageOf(data, report, program));
}
