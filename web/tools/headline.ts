// The sentences on top of a page, and where its timeline opens. src/report/html will write them; this is for trials.
import type { Report } from "../src/page/report.ts";
import { duration } from "../src/time_text.ts";

export function headlineOf(report: Report): { headline: string; details: string } {
  const { verdict, steps, findings, source } = report;
  const idle = verdict?.gpu_idle_pct;
  const first = findings.find((finding) => finding.superseded_by === null && finding.site);
  const parts: string[] = [];
  if (idle === null || idle === undefined) parts.push("This run has no GPU work.");
  else parts.push(`Your GPU is idle ${Math.round(idle)} % of each step.`);
  if (first) parts.push(`The largest saving is one line: ${first.site}`);
  const details: string[] = [];
  if (steps) details.push(`${steps.count} steps, ${duration(steps.median_ns)} each (median)`);
  details.push(...new Set(source.devices.map((device) => device.name)));
  details.push(`${duration(report.span_ns)} recorded`);
  if (verdict) details.push(`${verdict.bound_by}-bound`);
  return { headline: parts.join(" "), details: details.join(" · ") };
}

interface Span {
  start: number;
  duration: number;
}

/**
 * Three steps around a median one of the second half, where the program has warmed up. Without steps, as long a time from
 * `busyAt` on, when kernels ran.
 */
export function openingWindow(steps: Span[], report: Report, busyAt: number): [number, number] {
  const median = report.steps?.median_ns ?? 0;
  const late = steps.slice(Math.floor(steps.length / 2));
  const distance = (step: Span) => Math.abs(step.duration - median);
  const best = late.reduce<Span | undefined>(
    (a, b) => (a && distance(a) <= distance(b) ? a : b),
    undefined,
  );
  if (!best) {
    return median > 0 ? [busyAt, busyAt + Math.round(2.4 * median)] : [0, report.span_ns];
  }
  const margin = median * 0.6;
  return [
    Math.max(0, Math.round(best.start - margin)),
    Math.round(best.start + best.duration + margin * 2),
  ];
}
