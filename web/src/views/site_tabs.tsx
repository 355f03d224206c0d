// Transfers and waits by line, as the report has them.
import type { TransferSite } from "../page/report.ts";
import { visible, whereOf } from "../short_name.ts";
import { duration, size } from "../time_text.ts";
import { DIRECTIONS } from "../words.ts";
import { CallPaths } from "./call_paths.tsx";
import { type Cell, Table } from "./table.tsx";
import { useActions, useViewState } from "./use_store.ts";

const time = (ns: number | null): Cell => ({ text: ns === null ? "?" : duration(ns), order: ns });
const count = (value: number): Cell => ({ text: String(value), order: value });

function useSite(): {
  cell(site: string, librarySite?: string | null): Cell;
  isChosen(site: string): boolean;
} {
  const actions = useActions();
  useViewState();
  const { sites } = actions.run.contents;
  const chosen = actions.shownSite;
  return {
    cell(site, librarySite) {
      const index = sites.findIndex((entry) => entry.site === site);
      const text = visible(whereOf(site, librarySite));
      return index < 0 ? { text } : { text, onClick: () => actions.selectSite(index) };
    },
    isChosen: (site) => chosen !== null && sites[chosen]?.site === site,
  };
}

/** A memset reads no memory. */
function memoryOf({ direction, src_kind, dst_kind }: TransferSite): string {
  const to = dst_kind ?? "?";
  return direction === "memset" ? to : `${src_kind ?? "?"} > ${to}`;
}

export function TransfersTab() {
  const { run } = useActions();
  const { cell, isChosen } = useSite();
  if (run.report.sites.length === 0) return <p>The recording has no transfers.</p>;
  return (
    <>
      <Table
        columns={[
          "line",
          "direction",
          "memory",
          "operator",
          "count",
          "bytes",
          "on the GPU",
          "CPU waits",
          "exposed",
        ]}
        rows={run.report.sites.map((site, i) => ({
          key: i,
          isChosen: isChosen(site.site),
          cells: [
            cell(site.site, site.library_site),
            { text: DIRECTIONS[site.direction] ?? site.direction },
            { text: memoryOf(site) },
            { text: visible(site.op ?? "") },
            count(site.count),
            { text: size(site.bytes), order: site.bytes },
            time(site.device_time_ns),
            time(site.host_blocked_ns),
            time(site.exposed_ns),
          ],
        }))}
      />
      <CallPaths />
    </>
  );
}

export function WaitsTab() {
  const { run } = useActions();
  const { cell, isChosen } = useSite();
  if (run.report.sync_sites.length === 0) return <p>The CPU never waited for the GPU in a sync.</p>;
  return (
    <>
      <Table
        columns={["line", "call", "operator", "count", "CPU waits", "GPU idle meanwhile"]}
        rows={run.report.sync_sites.map((site, i) => ({
          key: i,
          isChosen: isChosen(site.site),
          cells: [
            cell(site.site, site.library_site),
            { text: visible(site.api) },
            { text: visible(site.op ?? "") },
            count(site.count),
            time(site.host_blocked_ns),
            time(site.gpu_idle_ns),
          ],
        }))}
      />
      <CallPaths />
    </>
  );
}
