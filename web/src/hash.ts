// The view as the part of the address after "#", so that a link brings it back:
//   #t=12.031,18.4&sel=site:3&tab=source&fix=1
// Times are in ms. Unknown keys and senseless values are ignored: links outlive versions.
import { type Selection, TABS, type Tab, type ViewState } from "./view_state.ts";

export function hashOf(state: ViewState): string {
  const parts = [`t=${ms(state.from)},${ms(state.to)}`];
  if (state.selection) parts.push(`sel=${textOfSelection(state.selection)}`);
  if (state.span) parts.push(`span=${state.span.map(ms).join(",")}`);
  if (state.tab !== "details") parts.push(`tab=${state.tab}`);
  if (state.fix !== null) parts.push(`fix=${state.fix}`);
  // Also where none is: a comparison begins with some hidden.
  parts.push(`hide=${[...state.hidden].join(",")}`);
  if (state.marks.length > 0) parts.push(`marks=${state.marks.map(ms).join(",")}`);
  if (state.query !== "") parts.push(`q=${encodeURIComponent(state.query)}`);
  if (state.shift !== 0) parts.push(`shift=${ms(state.shift)}`);
  return `#${parts.join("&")}`;
}

export function stateOfHash(hash: string): Partial<ViewState> {
  const state: Partial<ViewState> = {};
  for (const part of hash.replace(/^#/, "").split("&")) {
    const at = part.indexOf("=");
    if (at > 0) read(part.slice(0, at), part.slice(at + 1), state);
  }
  return state;
}

function read(key: string, value: string, state: Partial<ViewState>): void {
  switch (key) {
    case "t": {
      const window = span(value);
      if (window) [state.from, state.to] = window;
      return;
    }
    case "sel": {
      const selection = selectionOf(value);
      if (selection) state.selection = selection;
      return;
    }
    case "span":
      state.span = span(value) ?? null;
      return;
    case "tab":
      if (TABS.includes(value as Tab)) state.tab = value as Tab;
      return;
    case "fix":
      if (isIndex(value)) state.fix = Number(value);
      return;
    case "hide":
      state.hidden = new Set(value.split(",").filter(isIndex).map(Number));
      return;
    case "marks":
      state.marks = value.split(",").filter(isTime).map(ns);
      return;
    case "shift":
      if (isTime(value)) state.shift = ns(value);
      return;
    case "q":
      try {
        state.query = decodeURIComponent(value);
      } catch {
        // A text cut in the middle of a character: no query.
      }
      return;
  }
}

function textOfSelection(selection: Selection): string {
  return `${selection.kind}:${selection.kind === "event" ? selection.number : selection.index}`;
}

function selectionOf(text: string): Selection | undefined {
  const [kind, number] = text.split(":");
  if (!isIndex(number ?? "")) return undefined;
  if (kind === "event") return { kind, number: Number(number) };
  if (kind === "site" || kind === "finding") return { kind, index: Number(number) };
  return undefined;
}

function span(text: string): [number, number] | undefined {
  const [from, to, ...rest] = text.split(",");
  if (!isTime(from ?? "") || !isTime(to ?? "") || rest.length > 0) return undefined;
  const [a, b] = [ns(from!), ns(to!)];
  return a < b ? [a, b] : undefined;
}

const isIndex = (text: string) => /^\d{1,10}$/.test(text);
const isTime = (text: string) => /^-?\d{1,12}(\.\d{1,6})?$/.test(text);
const ns = (text: string) => Math.round(Number(text) * 1e6);
const ms = (time: number) => String(Math.round(time) / 1e6);
