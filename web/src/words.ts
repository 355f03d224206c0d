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
  idle_copy: "GPU idle: a copy held the CPU",
  idle_sync: "GPU idle: a sync held the CPU",
  idle_launch: "GPU idle: the CPU issued work too late",
  idle_input: "GPU idle: waits for input",
  idle_rank: "waits for another rank, in a collective",
  idle_unknown: "GPU idle: cause unknown",
  copies_only: "copies without kernels",
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
