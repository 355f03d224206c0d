// "In these 3 ms: ...": what happened in a stretch of time.
import { type ClassName, className, isLack, isWaiting } from "../format.ts";
import type { Lane } from "./lane.ts";
import type { Run } from "./run.ts";

export interface DeviceSums {
  device: number;
  /** Null where no kernel of the device is in the recording. */
  kernels_ns: number | null;
  /** Idle time by cause, as the state lane has it. */
  idle: Map<ClassName, number>;
  copies: Map<string, { count: number; bytes: number; ns: number }>;
}

export interface LineSums {
  site: number;
  blocked_ns: number;
  idle_ns: number;
  copy_ns: number;
  /** How long samples of Python stand for it. */
  python_ns: number;
  bytes: number;
}

export interface Sums {
  from: number;
  to: number;
  devices: DeviceSums[];
  blocked_ns: number;
  calls: number;
  /** Lines with a cost in this stretch, most waiting first. */
  lines: LineSums[];
}

/** `among`: the lanes that count. */
export function sumsOf(
  run: Run,
  from: number,
  to: number,
  among: readonly Lane[] = run.lanes,
): Sums {
  const sums: Sums = { from, to, devices: [], blocked_ns: 0, calls: 0, lines: [] };
  const devices = new Map<number, DeviceSums>();
  const streams = new Map<number, Lane[]>();
  const lines = new Map<number, LineSums>();
  for (const lane of among) {
    if (lane.entry.fix !== undefined) continue;
    const { device } = lane.entry;
    if (lane.entry.kind === "host") addHost(run, lane, sums, lines);
    if (lane.entry.kind === "python") addPython(run, lane, sums, lines);
    if (device === undefined) continue;
    const ofDevice = devices.get(device) ?? {
      device,
      kernels_ns: null,
      idle: new Map(),
      copies: new Map(),
    };
    devices.set(device, ofDevice);
    if (lane.entry.kind === "stream") {
      streams.set(device, [...(streams.get(device) ?? []), lane]);
      continue;
    }
    if (lane.entry.kind === "state") addState(run, lane, sums, ofDevice, lines);
    else addCopies(run, lane, sums, ofDevice, lines);
  }
  for (const ofDevice of devices.values()) {
    const ofKernels = streams.get(ofDevice.device);
    ofDevice.kernels_ns = ofKernels ? kernelTime(run, ofKernels, from, to) : null;
  }
  sums.devices = [...devices.values()].sort((a, b) => a.device - b.device);
  sums.lines = [...lines.values()].sort(
    (a, b) =>
      b.blocked_ns + b.idle_ns - (a.blocked_ns + a.idle_ns) ||
      b.copy_ns - a.copy_ns ||
      b.python_ns - a.python_ns,
  );
  return sums;
}

/** Calls `visit` with each event that touches [from, to) and the part of it inside. */
export function forEventsIn(
  lane: Lane,
  from: number,
  to: number,
  visit: (i: number, inside: number) => void,
): void {
  for (let i = lane.firstEndingAfter(from); i < lane.count && lane.start[i]! < to; i++)
    visit(i, Math.min(to, lane.end(i)) - Math.max(from, lane.start[i]!));
}

function lineOf(
  run: Run,
  lane: Lane,
  i: number,
  lines: Map<number, LineSums>,
): LineSums | undefined {
  const site = run.siteOf({ lane, i });
  if (site === undefined) return undefined;
  const line = lines.get(site) ?? {
    site,
    blocked_ns: 0,
    idle_ns: 0,
    copy_ns: 0,
    python_ns: 0,
    bytes: 0,
  };
  lines.set(site, line);
  return line;
}

function addHost(run: Run, lane: Lane, sums: Sums, lines: Map<number, LineSums>): void {
  forEventsIn(lane, sums.from, sums.to, (i, inside) => {
    if (isLack(lane.eventClass[i]!)) return;
    if (!isWaiting(lane.eventClass[i]!)) {
      sums.calls++;
      return;
    }
    sums.blocked_ns += inside;
    const line = lineOf(run, lane, i, lines);
    if (line) line.blocked_ns += inside;
  });
}

function addPython(run: Run, lane: Lane, sums: Sums, lines: Map<number, LineSums>): void {
  forEventsIn(lane, sums.from, sums.to, (i, inside) => {
    const line = lineOf(run, lane, i, lines);
    if (line) line.python_ns += inside;
  });
}

function addState(
  run: Run,
  lane: Lane,
  sums: Sums,
  device: DeviceSums,
  lines: Map<number, LineSums>,
): void {
  forEventsIn(lane, sums.from, sums.to, (i, inside) => {
    const cause = className(lane.eventClass[i]!);
    device.idle.set(cause, (device.idle.get(cause) ?? 0) + inside);
    const line = isWaiting(lane.eventClass[i]!) ? lineOf(run, lane, i, lines) : undefined;
    if (line) line.idle_ns += inside;
  });
}

function addCopies(
  run: Run,
  lane: Lane,
  sums: Sums,
  device: DeviceSums,
  lines: Map<number, LineSums>,
): void {
  forEventsIn(lane, sums.from, sums.to, (i, inside) => {
    if (isLack(lane.eventClass[i]!)) return;
    const sum = device.copies.get(lane.entry.title) ?? { count: 0, bytes: 0, ns: 0 };
    device.copies.set(lane.entry.title, sum);
    const bytes = lane.bytes?.[i] ?? 0;
    sum.count++;
    sum.bytes += bytes;
    sum.ns += inside;
    const line = lineOf(run, lane, i, lines);
    if (!line) return;
    line.copy_ns += inside;
    line.bytes += bytes;
  });
}

/** Time in which at least one kernel ran: streams overlap, so their times must not be added up. */
function kernelTime(run: Run, lanes: Lane[], from: number, to: number): number {
  if (lanes.length === 1 && !lanes[0]!.lacksEvents) {
    const pyramid = run.pyramid(lanes[0]!);
    return pyramid.busyUntil(to) - pyramid.busyUntil(from);
  }
  const spans: [number, number][] = [];
  for (const lane of lanes)
    forEventsIn(lane, from, to, (i) => {
      if (isLack(lane.eventClass[i]!)) return;
      spans.push([Math.max(from, lane.start[i]!), Math.min(to, lane.end(i))]);
    });
  spans.sort((a, b) => a[0] - b[0]);
  let busy = 0;
  let end = from;
  for (const [start, until] of spans) {
    busy += Math.max(0, until - Math.max(end, start));
    end = Math.max(end, until);
  }
  return busy;
}
