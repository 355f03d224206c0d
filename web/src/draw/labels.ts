// What stands on a rectangle.
import { className, isWaiting } from "../format.ts";
import type { EventRef, Run } from "../model/run.ts";
import { duration, size } from "../time_text.ts";

export const FONT = '12px system-ui, "DejaVu Sans", sans-serif';

const ARROWS: Record<string, string> = {
  copy_up: "↑",
  copy_down: "↓",
  copy_peer: "→",
  copy_device: "⟳",
};

/** The texts to try, longest first. */
export function labelsOf(run: Run, event: EventRef): string[] {
  const { lane, i } = event;
  const eventClass = lane.eventClass[i]!;
  const length = duration(lane.duration(i));
  const site = run.siteText(event);
  if (lane.entry.kind === "state" && className(eventClass) === "idle_rank")
    return [`${run.nameOf(event)}, ${length}`, run.nameOf(event), `waits ${length}`, "R"];
  if (lane.entry.kind === "state")
    return isWaiting(eventClass)
      ? idleLabels(className(eventClass), length, site)
      : ["only copies", "copies"];
  if (isWaiting(eventClass)) return waitLabels(run, event, length);
  const arrow = ARROWS[lane.entry.kind];
  if (arrow) {
    const bytes = lane.bytes ? size(lane.bytes[i]!) : "";
    return site
      ? [`${arrow} ${bytes}  ${site}`, `${arrow} ${bytes}`, arrow]
      : [`${arrow} ${bytes}`, arrow];
  }
  const name = run.shortNameOf(event);
  if (lane.entry.kind === "steps") return [`${name}  ${length}`, name];
  // A call without a stack is its own place.
  if (lane.entry.kind === "host" && site && site !== name) return [`${name}  ${site}`, name];
  return [name];
}

function waitLabels(run: Run, event: EventRef, length: string): string[] {
  const site = run.siteOf(event);
  const entry = site === undefined ? undefined : run.contents.sites[site];
  const labels = [`waits ${length}`];
  if (entry?.line !== undefined) labels.unshift(`line ${entry.line} waits ${length}`);
  if (entry) labels.unshift(`${entry.site} waits ${length}`);
  return labels;
}

const LETTERS: Record<string, string> = { idle_launch: "L", idle_input: "I", idle_unknown: "?" };

function idleLabels(cause: string, length: string, site: string | undefined): string[] {
  const letter = LETTERS[cause];
  const labels = site ? [`idle ${length}: ${site}`, `idle ${length}`] : [`idle ${length}`];
  return letter ? [...labels, letter] : labels;
}

/** What stands before a row. Where there is little room, the direction of copies counts more than that they are copies. */
export function headingsOf(title: string): string[] {
  const short = title.replace(/^copies (?=\S+ > )/, "");
  return short === title ? [title] : [title, short];
}

const widths = new Map<string, number>();

/** The width of a text in the timeline's font. */
export function textWidth(context: CanvasRenderingContext2D, text: string): number {
  let width = widths.get(text);
  if (width === undefined) {
    if (widths.size > 5000) widths.clear();
    width = context.measureText(text).width;
    widths.set(text, width);
  }
  return width;
}

/** The longest of the texts that fits; the last one cut short if at least five characters stay; else null. */
export function fitting(
  context: CanvasRenderingContext2D,
  texts: readonly string[],
  room: number,
  mayCut: boolean,
): string | null {
  for (const text of texts) if (textWidth(context, text) <= room) return text;
  const last = texts.at(-1);
  if (!mayCut || last === undefined || room < 36) return null;
  const kept = Math.floor((last.length * (room - 10)) / textWidth(context, last));
  return kept >= 5 ? `${last.slice(0, kept)}…` : null;
}
