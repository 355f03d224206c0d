// Colours of the timeline. Orange means that somebody waits, and nothing else is orange. Colour is never the only sign: see
// patterns.ts and labels.ts. Tests compute the contrasts: 3:1 for shapes, 4.5:1 for text.
import { type ClassName, className, isWaiting } from "../format.ts";

export interface Palette {
  background: string;
  rowBackground: string;
  stateBackground: string;
  text: string;
  mutedText: string;
  grid: string;
  rule: string;
  plate: string;
  waiting: string;
  selection: string;
  shade: string;
  classes: Record<ClassName, string>;
}

const LIGHT: Palette = {
  background: "#ffffff",
  rowBackground: "#f1f3f6",
  stateBackground: "#dbe7f5",
  text: "#1a1d21",
  mutedText: "#59616b",
  grid: "#e3e6ea",
  rule: "#d3d8de",
  plate: "#ffffff",
  waiting: "#c2501a",
  selection: "#111111",
  shade: "#1a1d2118",
  classes: classColours("#c2501a", {
    other: "#737c88",
    matmul: "#4470b3",
    attention: "#2c4f8f",
    elementwise: "#5f88c4",
    reduction: "#7266b4",
    collective: "#a3518f",
    copy_kernel: "#4d8798",
    kernel: "#5b7fae",
    pinned: "#1e8569",
    pageable: "#1e8569",
    managed: "#1e8569",
    unknown_memory: "#1e8569",
    device_copy: "#5a8f2f",
    peer: "#6a7f1c",
    memset: "#7a7f3a",
    call: "#7c8591",
    launch: "#6d7783",
    copy_call: "#4f7d70",
    python: "#d3dad2",
    copies_only: "#1e8569",
    step: "#c3cad3",
    range: "#c9c4dd",
    lost: "#777777",
    left_out: "#777777",
  }),
};

const DARK: Palette = {
  background: "#14171b",
  rowBackground: "#1e2329",
  stateBackground: "#1f3550",
  text: "#e8eaed",
  mutedText: "#a4acb6",
  grid: "#262b31",
  rule: "#353b43",
  plate: "#14171b",
  waiting: "#ec8338",
  selection: "#ffffff",
  shade: "#ffffff18",
  classes: classColours("#ec8338", {
    other: "#8a939e",
    matmul: "#6f95d0",
    attention: "#8fb4ea",
    elementwise: "#5a82bd",
    reduction: "#9a8edb",
    collective: "#cf83bd",
    copy_kernel: "#6bacbd",
    kernel: "#7d9dc8",
    pinned: "#4bb597",
    pageable: "#4bb597",
    managed: "#4bb597",
    unknown_memory: "#4bb597",
    device_copy: "#86bd58",
    peer: "#a3ba4c",
    memset: "#aaae66",
    call: "#8f98a3",
    launch: "#9ba4af",
    copy_call: "#79ab9d",
    python: "#475048",
    copies_only: "#4bb597",
    step: "#535b67",
    range: "#524d6e",
    lost: "#999999",
    left_out: "#999999",
  }),
};

type NotWaiting = Exclude<ClassName, "blocked" | `idle_${string}`>;

function classColours(
  waiting: string,
  others: Record<NotWaiting, string>,
): Record<ClassName, string> {
  return {
    ...others,
    blocked: waiting,
    idle_copy: waiting,
    idle_sync: waiting,
    idle_launch: waiting,
    idle_input: waiting,
    idle_rank: waiting,
    idle_unknown: waiting,
    idle_allocation: waiting,
    idle_between_kernels: waiting,
    idle_unrecorded: waiting,
    idle_other_device: waiting,
  };
}

export function paletteFor(isDark: boolean): Palette {
  return isDark ? DARK : LIGHT;
}

export function colourOf(palette: Palette, eventClass: number): string {
  return isWaiting(eventClass) ? palette.waiting : palette.classes[className(eventClass)];
}

/** "#rrggbb" as the pixel of an ImageData: red is the lowest byte. */
export function pixelOf(colour: string, alpha = 255): number {
  const rgb = Number.parseInt(colour.slice(1, 7), 16);
  const swapped = ((rgb & 0xff) << 16) | (rgb & 0xff00) | (rgb >>> 16);
  return (swapped | (alpha << 24)) >>> 0;
}

/** The contrast of two colours after WCAG 2.1, 1 to 21. */
export function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

function luminance(colour: string): number {
  const rgb = Number.parseInt(colour.slice(1, 7), 16);
  const [r, g, b] = [rgb >> 16, (rgb >> 8) & 255, rgb & 255].map((value) => {
    const share = value / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
