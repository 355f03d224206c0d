// Words for what the data has as codes.
import type { ClassName } from "./format.ts";

const CLASSES: Partial<Record<ClassName, string>> = {
  other: "event",
  matmul: "kernel: matrix product",
  attention: "kernel: attention",
  elementwise: "kernel: elementwise",
  reduction: "kernel: reduction",
  collective: "kernel: collective",
  copy_kernel: "kernel that copies",
  kernel: "kernel",
  pinned: "copy, pinned memory",
  pageable: "copy, pageable memory (copied twice)",
  managed: "copy, managed memory",
  unknown_memory: "copy, kind of memory unknown",
  device_copy: "copy inside the GPU",
  peer: "copy to another GPU",
  memset: "memset",
  call: "CUDA call",
  launch: "launch",
  copy_call: "call for a copy",
  python: "line of Python, from samples",
  blocked: "CPU waits",
  idle_copy: "GPU idle: copies",
  idle_sync: "GPU idle: synchronisations",
  idle_allocation: "GPU idle: allocations",
  idle_launch: "GPU idle: CPU issues work",
  idle_input: "GPU idle: next batch",
  idle_rank: "waits for another rank, in a collective",
  idle_unknown: "GPU idle: other work on the CPU",
  idle_between_kernels: "GPU idle: between kernels",
  idle_other_device: "GPU idle: another GPU",
  idle_unrecorded: "GPU idle: unrecorded work",
  copies_only: "only copies",
  step: "step",
  range: "range",
  lost: "not recorded",
  left_out: "not in this file",
};

export function classWords(name: ClassName): string {
  return CLASSES[name] ?? name;
}

export const DIRECTIONS: Record<string, string> = {
  h2d: "CPU > GPU",
  d2h: "GPU > CPU",
  d2d: "inside the GPU",
  p2p: "GPU > GPU",
  h2h: "CPU > CPU",
  memset: "memset",
};
