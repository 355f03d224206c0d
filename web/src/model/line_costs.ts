// What each source line costs over the run: the CPU waiting at it, copies from it, the GPU idle because of it.
import type { Report } from "../page/report.ts";

export interface LineCost {
  file: string;
  line: number;
  blocked_ns: number;
  copy_ns: number;
  idle_ns: number;
}

export function lineCosts(report: Report): LineCost[] {
  const costs = new Map<string, LineCost>();
  const at = (file: string | null, line: number | null): LineCost | undefined => {
    if (file === null || line === null) return undefined;
    const key = `${file}:${line}`;
    const cost = costs.get(key) ?? { file, line, blocked_ns: 0, copy_ns: 0, idle_ns: 0 };
    costs.set(key, cost);
    return cost;
  };
  for (const site of report.sites) {
    const cost = at(site.file, site.line);
    if (!cost) continue;
    cost.blocked_ns += site.host_blocked_ns ?? 0;
    cost.copy_ns += site.device_time_ns ?? 0;
    cost.idle_ns += site.gpu_idle_ns ?? 0;
  }
  for (const sync of report.sync_sites) {
    const cost = at(sync.file, sync.line);
    if (!cost) continue;
    // A sync in which an operator waited for its own transfer is already in that transfer's site.
    const own = report.sites.some(
      (site) => site.file === sync.file && site.line === sync.line && site.host_blocked_ns,
    );
    if (own) continue;
    cost.blocked_ns += sync.host_blocked_ns ?? 0;
    cost.idle_ns += sync.gpu_idle_ns ?? 0;
  }
  return [...costs.values()].sort((a, b) => total(b) - total(a));
}

export function total(cost: LineCost): number {
  return cost.blocked_ns + cost.copy_ns;
}
