// The table of keys. The page listens by it and the help shows it, so they cannot disagree.
// Keys work while the timeline has the focus: elsewhere they belong to the page and to screen readers.
import type { Actions } from "./actions.ts";
import { TABS, type Tab } from "./view_state.ts";

export interface Key {
  /** KeyboardEvent.code for letters, so that they stay in place on every keyboard; else KeyboardEvent.key. */
  codes: string[];
  shift?: boolean;
  alt?: boolean;
  /** As the help shows it. */
  shown: string;
  does: string;
  /** The tab that it opens. */
  tab?: Tab;
  run(actions: Actions): void;
}

const tabs: Key[] = TABS.map((tab, i) => ({
  codes: [`Digit${i + 1}`],
  shown: String(i + 1),
  does: `open the tab "${tab}"`,
  tab,
  run: (a) => a.showTab(tab),
}));

export const KEYS: readonly Key[] = [
  { codes: ["KeyW"], shown: "W", does: "zoom in at the pointer", run: (a) => a.zoomStep(1) },
  { codes: ["KeyS"], shown: "S", does: "zoom out", run: (a) => a.zoomStep(-1) },
  { codes: ["KeyA"], shown: "A", does: "move left", run: (a) => a.pan(-1) },
  { codes: ["KeyD"], shown: "D", does: "move right", run: (a) => a.pan(1) },
  { codes: ["KeyN"], shown: "N", does: "next GPU gap", run: (a) => a.gap(1) },
  { codes: ["KeyP"], shown: "P", does: "previous GPU gap", run: (a) => a.gap(-1) },
  {
    codes: ["KeyN"],
    alt: true,
    shown: "Alt+N",
    does: "longest GPU gap, then the next shorter one",
    run: (a) => a.gapByLength(1),
  },
  {
    codes: ["KeyP"],
    alt: true,
    shown: "Alt+P",
    does: "next longer GPU gap",
    run: (a) => a.gapByLength(-1),
  },
  { codes: ["Period"], shown: ".", does: "next event of the same line", run: (a) => a.sameSite(1) },
  {
    codes: ["Comma"],
    shown: ",",
    does: "previous event of the same line",
    run: (a) => a.sameSite(-1),
  },
  { codes: ["BracketLeft"], shown: "[", does: "cause of the event", run: (a) => a.cause() },
  { codes: ["BracketRight"], shown: "]", does: "effect of the event", run: (a) => a.effect() },
  {
    codes: ["ArrowLeft"],
    shown: "Left",
    does: "previous event in the row",
    run: (a) => a.neighbour(-1),
  },
  {
    codes: ["ArrowRight"],
    shown: "Right",
    does: "next event in the row",
    run: (a) => a.neighbour(1),
  },
  { codes: ["ArrowUp"], shown: "Up", does: "row above", run: (a) => a.otherRow(-1) },
  { codes: ["ArrowDown"], shown: "Down", does: "row below", run: (a) => a.otherRow(1) },
  {
    codes: ["Enter"],
    shown: "Enter",
    does: "source of the event",
    run: (a) => a.showTab("source"),
  },
  {
    codes: ["Escape"],
    shown: "Esc",
    does: "give up the selected time, then the selected event",
    run: (a) => a.escape(),
  },
  {
    codes: ["KeyF"],
    shown: "F",
    does: "move the selected event into the middle; again: fit it",
    run: (a) => a.centreOrFit(),
  },
  { codes: ["KeyJ"], shown: "J", does: "next step", run: (a) => a.step(1) },
  { codes: ["KeyK"], shown: "K", does: "previous step", run: (a) => a.step(-1) },
  {
    codes: ["KeyJ"],
    shift: true,
    shown: "Shift+J",
    does: "slowest step",
    run: (a) => a.slowestStep(),
  },
  {
    codes: ["KeyR"],
    shown: "R",
    does: "select the time of the event",
    run: (a) => a.spanOfEvent(),
  },
  { codes: ["KeyM"], shown: "M", does: "set or remove a mark", run: (a) => a.mark() },
  { codes: ["Digit0", "Home"], shown: "0, Home", does: "whole run", run: (a) => a.showAll() },
  { codes: ["KeyZ"], shown: "Z", does: "back to the window before", run: (a) => a.store.back() },
  {
    codes: ["ArrowLeft"],
    alt: true,
    shown: "Alt+Left",
    does: "the same",
    run: (a) => a.store.back(),
  },
  { codes: ["Slash"], shown: "/", does: "search", run: (a) => a.focusSearch() },
  { codes: ["KeyG"], shown: "G", does: "go to a time or a step", run: (a) => a.askForTime() },
  { codes: ["KeyX"], shown: "X", does: "hide the row of the event", run: (a) => a.hideRow() },
  {
    codes: ["KeyX"],
    shift: true,
    shown: "Shift+X",
    does: "show all rows",
    run: (a) => a.showRows(),
  },
  { codes: ["KeyV"], shown: "V", does: "with the fix, or as recorded", run: (a) => a.toggleFix() },
  { codes: ["KeyT"], shown: "T", does: "table of what is in view", run: (a) => a.showTab("view") },
  ...tabs,
  { codes: ["Slash"], shift: true, shown: "?", does: "this help", run: (a) => a.showTab("help") },
];

export interface Pressed {
  code: string;
  key: string;
  shiftKey: boolean;
  altKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
}

/** The entry for a key press; undefined for other keys. */
export function keyFor(pressed: Pressed): Key | undefined {
  if (pressed.ctrlKey || pressed.metaKey) return undefined;
  // Signs lie elsewhere on other keyboards, so they count by what they write, not by where they are.
  if (pressed.key === "?") return KEYS.find((key) => key.shown === "?");
  const bySign = KEYS.find((key) => key.shown === pressed.key && !/[A-Za-z0-9]/.test(key.shown));
  if (bySign && !pressed.altKey) return bySign;
  return KEYS.find(
    (key) =>
      key.codes.includes(pressed.code) &&
      (key.shift ?? false) === pressed.shiftKey &&
      (key.alt ?? false) === pressed.altKey,
  );
}
