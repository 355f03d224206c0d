// Times and sizes in words, as `turnpike report` prints them. A no-break space keeps each figure with its unit.

const SPACE = "\u00a0";

/** A sentence whose figures no line break parts from their unit. */
export function wholeFigures(text: string): string {
  return text.replace(/(?<=\d) (?=(?:[num]?s|min|h|[kMGT]?B|[kMG]B\/s|[KMG]iB)(?!\w)|%)/g, SPACE);
}

const UNITS: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "us"],
];

/** "4.83 us", "612 us", "2.49 ms": three digits that count. */
export function duration(ns: number): string {
  // 999.5 us is 1 ms: what rounds up to a thousand belongs to the next unit.
  for (const [size, unit] of UNITS)
    if (Math.abs(ns) >= size * 0.9995) return `${digits(ns / size)}${SPACE}${unit}`;
  return `${Math.round(ns)}${SPACE}ns`;
}

/** The same for screen readers, which do not know "us". */
export function spokenDuration(ns: number): string {
  return duration(ns)
    .replace(SPACE, " ")
    .replace(/ns$/, "nanoseconds")
    .replace(/us$/, "microseconds")
    .replace(/ms$/, "milliseconds")
    .replace(/(?<=\s)s$/, "seconds");
}

const SIZES: [number, string][] = [
  [1e12, "TB"],
  [1e9, "GB"],
  [1e6, "MB"],
  [1e3, "kB"],
];

export function size(bytes: number): string {
  for (const [unit, name] of SIZES)
    if (bytes >= unit * 0.9995) return `${digits(bytes / unit)}${SPACE}${name}`;
  return `${Math.round(bytes)}${SPACE}B`;
}

/** As the document says shares: neither a little nor almost all is rounded away. */
export function percent(value: number): string {
  if (value > 0 && value < 1) return `<1${SPACE}%`;
  if (value > 99 && value < 100) return `99${SPACE}%`;
  return `${Math.round(value)}${SPACE}%`;
}

function digits(value: number): string {
  const magnitude = Math.abs(value);
  return value.toFixed(magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2);
}

/** A moment on the axis, with as many decimals as the distance between two ticks needs. */
export function moment(ns: number, tick: number, unit = unitFor(tick)): string {
  const [scale, name] = unit;
  const decimals = Math.max(0, Math.ceil(-Math.log10(tick / scale) - 1e-9));
  return `${(ns / scale).toFixed(decimals)}${SPACE}${name}`;
}

/** Milliseconds with up to three decimals; seconds and microseconds where those would be too coarse or too many digits. */
function unitFor(tick: number): [number, string] {
  if (tick >= 1e9) return [1e9, "s"];
  return tick >= 1e3 ? [1e6, "ms"] : [1e3, "us"];
}

/** 1, 2 or 5 times a power of ten, so that ticks are at least `least` ns apart. */
export function tickDistance(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  for (const factor of [1, 2, 5]) if (power * factor >= least) return power * factor;
  return power * 10;
}
