// What each source line costs: the CPU waiting at it, copies from it. No moment counts twice.
import type { LineTime } from "../page/report.ts";

/** Of copies, what no wait covers. */
export function besideWaits(line: LineTime): number {
  return line.time_ns - line.waits_ns;
}

/** Of copies, what passed while the CPU waited at the line as well. */
export function atOnce(line: LineTime): number {
  return line.waits_ns + line.copies_ns - line.time_ns;
}
