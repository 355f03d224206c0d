// The numbers of web/format.json, typed. Nothing else in the page knows a number of the format.
import format from "../format.json";

export type ColumnName = keyof typeof format.columns;
export type ClassName = keyof typeof format.classes;
export type LaneKind =
  | "steps"
  | "ranges"
  | "host"
  | "python"
  | "state"
  | "stream"
  | "copy_up"
  | "copy_down"
  | "copy_peer"
  | "copy_device"
  | "memory";

export const VERSION = format.version;
export const ELEMENTS = format.elements;
export const LIMITS = format.limits;
export const NO_LINK = format.no_link;
export const LONG_DURATION = format.long_duration;
export const LANE_KINDS = format.lanes as LaneKind[];
export const CLASSES: Readonly<Record<ClassName, number>> = format.classes;

const widths = new Map<string, number>(
  Object.entries(format.columns).map(([name, column]) => [name, column.bytes]),
);

/** How many bytes a column takes for one event. Undefined for a column that the format lacks. */
export function widthOf(column: string): number | undefined {
  return widths.get(column);
}

const namesOfClasses: (ClassName | undefined)[] = [];
for (const [name, number] of Object.entries(format.classes))
  namesOfClasses[number] = name as ClassName;

export function className(number: number): ClassName {
  return namesOfClasses[number] ?? "other";
}

const waiting = new Uint8Array(256);
for (const name of format.waiting) waiting[CLASSES[name as ClassName]] = 1;

/** Whether an event of this class is time in which somebody waits: the CPU blocked, or the GPU idle. */
export function isWaiting(eventClass: number): boolean {
  return waiting[eventClass] === 1;
}

/** Whether it is no event but a lack of them: lost by the recording, or left out of this file. */
export function isLack(eventClass: number): boolean {
  return eventClass === CLASSES.lost || eventClass === CLASSES.left_out;
}

/** Kernels of all families stand before the copies. */
export function isKernel(eventClass: number): boolean {
  return eventClass >= CLASSES.matmul && eventClass <= CLASSES.kernel;
}
