// One bar for a step, or for the run where it has none: the GPU computes, only copies run, or it is idle, by cause.
import { useEffect, useState } from "preact/hooks";
import { type Report, wholeOf } from "../page/report.ts";
import { percent } from "../time_text.ts";

interface Part {
  name: string;
  share: number;
  style: string;
}

export function partsOf(report: Report): Part[] {
  const { verdict } = report;
  if (!verdict || verdict.gpu_busy_pct === null) return [];
  const { idle } = verdict;
  const parts: Part[] = [
    { name: "GPU computes", share: verdict.gpu_busy_pct, style: "kernels" },
    { name: "only copies", share: verdict.exposed_transfer_pct ?? 0, style: "copies" },
  ];
  if (idle)
    parts.push(
      { name: "idle: copies", share: idle.copies_pct, style: "wait" },
      { name: "idle: synchronisations", share: idle.syncs_pct, style: "wait sync" },
      { name: "idle: allocations", share: idle.allocations_pct, style: "wait allocation" },
      { name: "idle: next batch", share: idle.input_pct, style: "wait input" },
      { name: "idle: CPU issues work", share: idle.launch_pct, style: "wait launch" },
      { name: "idle: other work on the CPU", share: idle.quiet_pct, style: "wait quiet" },
      { name: "idle: between kernels", share: idle.between_kernels_pct, style: "wait between" },
      { name: "idle: another GPU", share: idle.other_devices_pct, style: "wait other" },
      { name: "idle: unrecorded work", share: idle.unrecorded_pct, style: "wait unrecorded" },
    );
  else parts.push({ name: "idle", share: verdict.gpu_idle_pct ?? 0, style: "wait" });
  return parts.filter((part) => part.share >= 0.05);
}

/** Wider than most letters, and what lies between a text and its part's edges. */
const LETTER = 8;
const PADDING = 22;

function fits(part: Part, width: number): boolean {
  const letters = `${part.name} ${percent(part.share)}`.length;
  return (part.share / 100) * width > LETTER * letters + PADDING;
}

/** The width of the window, without the margins of the page. */
function useWidth(): number {
  const [width, setWidth] = useState(innerWidth);
  useEffect(() => {
    const changed = () => setWidth(innerWidth);
    addEventListener("resize", changed);
    return () => removeEventListener("resize", changed);
  }, []);
  return width - 40;
}

export function StepBar({ report }: { report: Report }) {
  const parts = partsOf(report);
  const width = useWidth();
  if (parts.length === 0) return null;
  const { name } = wholeOf(report);
  const label = `${name[0]!.toUpperCase()}${name.slice(1)}: ${parts.map((part) => `${part.name} ${percent(part.share)}`).join(", ")}`;
  return (
    <div class="bar-of-step">
      <div class="bar" role="img" aria-label={label}>
        {parts.map((part) => (
          <div key={part.name} class={`part ${part.style}`} style={{ flexGrow: part.share }}>
            {fits(part, width) ? (
              <span>
                {part.name} {percent(part.share)}
              </span>
            ) : null}
          </div>
        ))}
      </div>
      <p class="bar-words" aria-hidden="true">
        {parts
          .filter((part) => !fits(part, width))
          .map((part) => (
            <span key={part.name}>
              <i class={`swatch ${part.style}`} /> {part.name} {percent(part.share)}
            </span>
          ))}
      </p>
    </div>
  );
}
