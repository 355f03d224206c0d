// The part of `turnpike report --json` (schema 1, docs/report.md) that the page shows.

/** Another way to what a finding advises. */
export interface Alternative {
  advice: string;
  saving_step_low_ns: number | null;
  saving_step_high_ns: number | null;
  saving_step_expected_ns?: number | null;
}

export interface Finding {
  rule: string;
  severity: string;
  title: string;
  site: string | null;
  library_site?: string | null;
  saving_step_ns: number | null;
  saving_step_low_ns?: number | null;
  saving_step_high_ns?: number | null;
  saving_step_expected_ns?: number | null;
  saving_pct: number | null;
  saving_reason: string | null;
  alternatives?: Alternative[];
  superseded_by: string | null;
  evidence: string;
  advice: string;
}

export interface TransferSite {
  site: string;
  library_site?: string | null;
  file: string | null;
  line: number | null;
  op: string | null;
  direction: string;
  src_kind: string | null;
  dst_kind: string | null;
  count: number;
  bytes: number;
  device_time_ns: number | null;
  host_blocked_ns: number | null;
  exposed_ns: number | null;
  gpu_idle_ns: number | null;
  bandwidth_gbps: number | null;
}

export interface SyncSite {
  site: string;
  library_site?: string | null;
  file: string | null;
  line: number | null;
  op: string | null;
  api: string;
  count: number;
  host_blocked_ns: number | null;
  gpu_idle_ns: number | null;
}

export interface Idle {
  copies_pct: number;
  syncs_pct: number;
  input_pct: number;
  launch_pct: number;
  quiet_pct: number;
  allocations_pct: number;
  between_kernels_pct: number;
  other_devices_pct: number;
  unrecorded_pct: number;
}

export interface Report {
  schema: number;
  source: {
    kind: string;
    program: string | null;
    detail: string | null;
    devices: { id: number; name: string }[];
    versions: Record<string, string | null>;
    notes: string[];
  };
  span_ns: number;
  used_gpu: boolean;
  steps: {
    count: number;
    median_ns: number;
    device_median_ns: number | null;
    /** Then a step takes as long as on the devices. */
    is_host_ahead: boolean;
    source: string;
  } | null;
  verdict: {
    bound_by: string;
    gpu_busy_pct: number | null;
    gpu_idle_pct: number | null;
    exposed_transfer_pct: number | null;
    why: string;
    idle: Idle | null;
  } | null;
  memory: { points: { time_ns: number; device_bytes: number; pinned_bytes: number }[] } | null;
  sites: TransferSite[];
  sync_sites: SyncSite[];
  /** Most time first. */
  lines: LineTime[];
  findings: Finding[];
  saving_pct_all: number | null;
  losses: Record<string, number>;
  loss_sentences: Record<string, string>;
}

/** A line while its transfers and synchronisations took time; no moment counts twice. */
export interface LineTime {
  file: string;
  line: number;
  time_ns: number;
  waits_ns: number;
  copies_ns: number;
  gpu_idle_ns: number | null;
}

/** What the figures of a report are of: a step, or the run where it has no steps. */
export interface Whole {
  name: string;
  /** What a percentage refers to. */
  time: string;
  /** Behind a figure. */
  each: string;
}

const STEP: Whole = { name: "a step", time: "a step", each: " a step" };
const RUN: Whole = { name: "the run", time: "the time", each: "" };

export function wholeOf(report: Report): Whole {
  return report.steps ? STEP : RUN;
}

/** What a step takes: on the devices where the CPU runs ahead of them. */
export function stepTime({ steps }: Report): number | undefined {
  if (!steps) return undefined;
  return (steps.is_host_ahead ? steps.device_median_ns : null) ?? steps.median_ns;
}

export function checkReport(value: unknown): Report {
  const report = value as Report;
  if (report?.schema !== 1)
    throw new Error(`The report has schema ${report?.schema}; this page reads 1`);
  return report;
}
