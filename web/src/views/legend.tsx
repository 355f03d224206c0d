// What the patterns and colours mean. Only what the run has is listed.
import { useMemo } from "preact/hooks";
import { CLASSES, type ClassName } from "../format.ts";
import type { Run } from "../model/run.ts";
import { useActions } from "./use_store.ts";

export const ENTRIES: [string, string, ClassName[]][] = [
  [
    "kernels",
    "kernel",
    ["matmul", "attention", "elementwise", "reduction", "copy_kernel", "kernel"],
  ],
  ["collective", "kernel: collective", ["collective"]],
  ["call", "CUDA call", ["call", "launch"]],
  ["copy-call", "call for a copy", ["copy_call"]],
  ["python", "line of Python, from samples", ["python"]],
  ["wait", "CPU blocked, or GPU idle: copies", ["blocked", "idle_copy"]],
  ["wait sync", "GPU idle: synchronisations", ["idle_sync"]],
  ["wait allocation", "GPU idle: allocations", ["idle_allocation"]],
  ["wait launch", "GPU idle: CPU issues work", ["idle_launch"]],
  ["wait input", "GPU idle: next batch", ["idle_input"]],
  ["wait quiet", "GPU idle: other work on the CPU", ["idle_unknown"]],
  ["wait between", "GPU idle: between kernels", ["idle_between_kernels"]],
  ["wait other", "GPU idle: another GPU", ["idle_other_device"]],
  ["wait unrecorded", "GPU idle: unrecorded work", ["idle_unrecorded"]],
  ["wait rank", "GPU waits for another rank", ["idle_rank"]],
  ["copies", "copy, pinned", ["pinned"]],
  ["copies pageable", "copy, pageable", ["pageable"]],
  ["copies managed", "copy, managed", ["managed"]],
  ["device-copy", "copy inside the GPU", ["device_copy"]],
  ["peer", "copy to another GPU", ["peer"]],
  ["memset", "memset", ["memset"]],
  ["lost", "not recorded: records were lost", ["lost"]],
  ["lost", "not in this file", ["left_out"]],
];

function classesOf(run: Run): Set<number> {
  const seen = new Uint8Array(256);
  for (const lane of run.lanes) for (let i = 0; i < lane.count; i++) seen[lane.eventClass[i]!] = 1;
  return new Set([...seen.keys()].filter((c) => seen[c]));
}

export function Legend() {
  const { run } = useActions();
  const seen = useMemo(() => classesOf(run), [run]);
  return (
    <ul class="legend" aria-label="Legend">
      {ENTRIES.filter(([, , classes]) => classes.some((name) => seen.has(CLASSES[name]))).map(
        ([style, words]) => (
          <li key={words}>
            <i class={`swatch ${style}`} /> {words}
          </li>
        ),
      )}
      {run.lanes.some((lane) => lane.showsExposure && lane.count > 0) ? (
        <li>a dark upper edge: no kernel runs during this part of a copy or memset</li>
      ) : null}
    </ul>
  );
}
