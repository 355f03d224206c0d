// What the user can do with the timeline, by key or by pointer. The table of keys, the pointer and the buttons all call these.
import { layoutOf } from "./layout.ts";
import { gapByLength, nextGap, nextOfSite } from "./model/gaps.ts";
import type { Lane } from "./model/lane.ts";
import { causeOf, effectsOf } from "./model/links.ts";
import { type EventRef, type Run, stepsAmong } from "./model/run.ts";
import { type Hits, search } from "./model/search.ts";
import { type Store, TABS, TABS_OF_COMPARISON, type Tab } from "./view_state.ts";

const ZOOM_STEP = 1.35;
const PAN_STEP = 0.2;
/** Shorter gaps lie between any two kernels; N and P pass over them. */
const LEAST_GAP_NS = 10000;

export class Actions {
  /** Where the pointer is, in ns; zooming by key keeps this moment in place. */
  pointer: number | null = null;
  /** Set by the page: opens what belongs to a key outside the timeline. */
  focusSearch: () => void = () => {};
  askForTime: () => void = () => {};
  /** The document's tree of call paths, which the tabs show too. */
  paths: Element | null = null;
  private hitsFor: { query: string; hits: Hits } | undefined;
  private hitIndex = -1;

  constructor(
    readonly run: Run,
    readonly store: Store,
  ) {
    // Before whoever draws hears of it.
    const align = () => run.shiftAfter(store.state.shift);
    align();
    store.listen(align);
  }

  // The window

  zoom(factor: number, around: number | null = this.pointer): void {
    const { from, to } = this.store.state;
    const middle = around !== null && around >= from && around <= to ? around : (from + to) / 2;
    this.store.look(middle - (middle - from) * factor, middle + (to - middle) * factor, false);
  }

  zoomStep(direction: 1 | -1): void {
    this.zoom(direction === 1 ? 1 / ZOOM_STEP : ZOOM_STEP);
  }

  pan(direction: 1 | -1): void {
    const { from, to } = this.store.state;
    this.panBy(direction * PAN_STEP * (to - from));
  }

  panBy(ns: number): void {
    const { from, to } = this.store.state;
    this.store.look(from + ns, to + ns, false);
  }

  showAll(): void {
    this.store.look(0, this.run.contents.span_ns);
  }

  /** Shows this stretch with some room around it. */
  fit(from: number, to: number, room = 0.15, shift = this.store.state.shift): void {
    const margin = Math.max(50, (to - from) * room);
    this.store.look(from - margin, to + margin, true, shift);
  }

  /** The selected event, or the selected stretch: first into the middle, then as wide as the window. */
  centreOrFit(): void {
    const [start, end] = this.selectedSpan() ?? [];
    if (start === undefined || end === undefined) return;
    const { from, to } = this.store.state;
    const middle = (start + end) / 2;
    const isCentred = Math.abs(middle - (from + to) / 2) < (to - from) * 0.001;
    if (isCentred || end - start > to - from) this.fit(start, end);
    else this.store.look(middle - (to - from) / 2, middle + (to - from) / 2);
  }

  private selectedSpan(): [number, number] | undefined {
    const { event } = this;
    if (event) return [event.lane.start[event.i]!, event.lane.end(event.i)];
    return this.store.state.span ?? undefined;
  }

  // The selection

  get event(): EventRef | undefined {
    const { selection } = this.store.state;
    return selection?.kind === "event" ? this.run.event(selection.number) : undefined;
  }

  /** The site that is highlighted: selected itself, or by a finding. */
  get site(): number | null {
    const { selection } = this.store.state;
    if (selection?.kind === "site") return selection.index;
    if (selection?.kind === "finding")
      return this.run.contents.findings[selection.index]?.site ?? null;
    return null;
  }

  /** The site that source and tables point at, also that of the selected event. */
  get shownSite(): number | null {
    const { event } = this;
    return event ? (this.run.siteOf(event) ?? null) : this.site;
  }

  select(event: EventRef, mayMove = true): void {
    this.store.set({ selection: { kind: "event", number: this.run.numberOf(event) } });
    if (mayMove) this.bringIntoView(event);
  }

  private bringIntoView({ lane, i }: EventRef): void {
    const { from, to } = this.store.state;
    const [start, end] = [lane.start[i]!, lane.end(i)];
    const width = to - from;
    if (end - start > width) this.fit(start, end);
    else if (start < from || end > to || end - start < width / 2000) {
      const wanted = end - start < width / 2000 ? Math.max((end - start) * 40, 1000) : width;
      this.store.look((start + end) / 2 - wanted / 2, (start + end) / 2 + wanted / 2);
    }
  }

  selectSite(index: number): void {
    this.store.set({ selection: { kind: "site", index } });
  }

  selectFinding(index: number): void {
    this.store.set({ selection: { kind: "finding", index } });
    const { site } = this;
    const { from, to } = this.store.state;
    if (site === null) return;
    const first = nextOfSite(this.run, site, from, 1);
    if (first && first.lane.start[first.i]! < to) return;
    const next = first ?? nextOfSite(this.run, site, from, -1);
    if (next)
      this.store.look(
        next.lane.start[next.i]! - (to - from) / 2,
        next.lane.start[next.i]! + (to - from) / 2,
      );
  }

  escape(): void {
    const { selection, span } = this.store.state;
    if (span) this.store.set({ span: null });
    else if (selection) this.store.set({ selection: null });
  }

  selectSpan(from: number, to: number): void {
    this.store.set({ span: from < to ? [from, to] : null });
  }

  spanOfEvent(): void {
    const span = this.selectedSpan();
    if (span && span[0] < span[1]) this.store.set({ span });
  }

  // From event to event

  neighbour(direction: 1 | -1): void {
    const { event } = this;
    if (!event) {
      this.selectFirstVisible();
      return;
    }
    const i = event.i + direction;
    if (i >= 0 && i < event.lane.count) this.select({ lane: event.lane, i });
  }

  otherRow(direction: 1 | -1): void {
    const { event } = this;
    if (!event) {
      this.selectFirstVisible();
      return;
    }
    const lanes = this.visibleLanes();
    const time = event.lane.start[event.i]!;
    for (
      let k = lanes.indexOf(event.lane) + direction;
      k >= 0 && k < lanes.length;
      k += direction
    ) {
      const lane = lanes[k]!;
      if (lane.count > 0) {
        this.select({ lane, i: Math.min(lane.count - 1, lane.firstEndingAfter(time)) });
        return;
      }
    }
  }

  private selectFirstVisible(): void {
    const { from, to } = this.store.state;
    for (const lane of this.visibleLanes()) {
      const i = lane.firstStartingAt(from);
      if (i < lane.count && lane.start[i]! < to) {
        this.select({ lane, i });
        return;
      }
    }
  }

  private visibleLanes(): Lane[] {
    return layoutOf(this.run, this.store.state).rows.flatMap((row) => row.lane ?? []);
  }

  cause(): void {
    const cause = this.event && causeOf(this.run, this.event);
    if (cause) this.select(cause);
  }

  effect(): void {
    const effect = this.event && effectsOf(this.run, this.event, 1)[0];
    if (effect) this.select(effect);
  }

  gap(direction: 1 | -1): void {
    const { event } = this;
    const { from, to } = this.store.state;
    const time = event ? event.lane.start[event.i]! : direction === 1 ? from : to;
    const gap = nextGap(this.run, time, direction, LEAST_GAP_NS);
    if (gap) this.select(gap);
  }

  gapByLength(direction: 1 | -1): void {
    const gap = gapByLength(this.run, this.event, direction);
    if (gap) this.select(gap);
  }

  sameSite(direction: 1 | -1): void {
    const site = this.shownSite;
    if (site === null) return;
    const { event } = this;
    const time = event ? event.lane.start[event.i]! : this.store.state.from;
    const next = nextOfSite(this.run, site, time, direction);
    if (next) this.select(next);
  }

  step(direction: 1 | -1): void {
    const steps = this.chosenSteps;
    if (!steps || steps.count === 0) return;
    const { event } = this;
    const { from, to } = this.store.state;
    const current = event?.lane === steps ? event.i : steps.firstEndingAfter((from + to) / 2);
    this.goToStep(Math.min(steps.count - 1, current) + direction);
  }

  slowestStep(): void {
    const steps = this.chosenSteps;
    if (!steps) return;
    let slowest = 0;
    for (let i = 1; i < steps.count; i++)
      if (steps.duration(i) > steps.duration(slowest)) slowest = i;
    this.goToStep(slowest);
  }

  /** The steps of the run in which an event is selected; of the first run where none is. */
  private get chosenSteps(): Lane | undefined {
    const { event, run } = this;
    const side = event && run.sides.find(({ lanes }) => lanes.includes(event.lane));
    return (side && stepsAmong(side.lanes)) ?? run.steps;
  }

  /** Of two runs, the step of the other one that belongs to it is moved to the same moment. */
  goToStep(i: number): void {
    const steps = this.chosenSteps;
    if (!steps || i < 0 || i >= steps.count) return;
    const [start, end] = [steps.start[i]!, steps.end(i)];
    const other = this.run.sides.map(({ lanes }) => stepsAmong(lanes)).find((o) => o !== steps);
    const partner = other ? i + distanceOfSteps(steps, other) : -1;
    const hasPartner = other !== undefined && partner >= 0 && partner < other.count;
    this.select({ lane: steps, i }, false);
    if (!hasPartner) {
      this.fit(start, end, 0.1);
      return;
    }
    const apart = start - other.start[partner]!;
    const longest = Math.max(end - start, other.duration(partner));
    // Of the two, the run after the change is the one that moves.
    const { shift } = this.store.state;
    const isFirst = steps === this.run.steps;
    const at = isFirst ? start : other.start[partner]!;
    this.fit(at, at + longest, 0.1, shift + (isFirst ? apart : -apart));
  }

  /** "12.5" or "12.5 ms" is a time, "step 3" a step. Returns whether it was understood. */
  goTo(text: string): boolean {
    const step = /^\s*step\s+(\d+)\s*$/i.exec(text);
    if (step) {
      this.goToStep(Number(step[1]));
      return true;
    }
    const time = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|us)?\s*$/.exec(text);
    if (!time) return false;
    const ns =
      Number(time[1]) * { ms: 1e6, s: 1e9, us: 1e3 }[(time[2] ?? "ms") as "ms" | "s" | "us"];
    const { from, to } = this.store.state;
    this.store.look(ns - (to - from) / 2, ns + (to - from) / 2);
    return true;
  }

  // Search

  get hits(): Hits {
    const { query } = this.store.state;
    if (this.hitsFor?.query !== query) {
      this.hitsFor = { query, hits: search(this.run, query) };
      this.hitIndex = -1;
    }
    return this.hitsFor.hits;
  }

  hit(direction: 1 | -1): void {
    const { events } = this.hits;
    if (events.length === 0) return;
    this.hitIndex =
      (Math.max(this.hitIndex, direction === 1 ? -1 : 0) + direction + events.length) %
      events.length;
    this.select(events[this.hitIndex]!);
  }

  // Rows, marks and the rest

  hideRow(): void {
    const { event } = this;
    if (event)
      this.store.set({
        hidden: new Set([...this.store.state.hidden, event.lane.index]),
        selection: null,
      });
  }

  showRows(): void {
    this.store.set({ hidden: new Set() });
  }

  mark(): void {
    const { event } = this;
    const { from, to, marks } = this.store.state;
    const time = this.pointer ?? (event ? event.lane.start[event.i]! : (from + to) / 2);
    const near = marks.find((mark) => Math.abs(mark - time) < (to - from) / 200);
    this.store.set({
      marks:
        near === undefined
          ? [...marks, time].sort((a, b) => a - b)
          : marks.filter((m) => m !== near),
    });
  }

  toggleFix(): void {
    const { fix, selection } = this.store.state;
    const finding = selection?.kind === "finding" ? selection.index : 0;
    const known = this.run.lanes.some((lane) => lane.entry.fix === finding);
    if (fix !== null) this.store.set({ fix: null });
    else if (known) this.store.set({ fix: finding });
  }

  get tabs(): readonly Tab[] {
    return this.run.isComparison ? TABS_OF_COMPARISON : TABS;
  }

  /** The tab that is open: links may name one that this page lacks. */
  get tab(): Tab {
    const { tab } = this.store.state;
    return this.tabs.includes(tab) ? tab : "details";
  }

  showTab(tab: Tab): void {
    if (this.tabs.includes(tab)) this.store.set({ tab });
  }
}

/** How many steps further the one of `others` is that begins with a step of `steps`, or nearest to one. */
function distanceOfSteps(steps: Lane, others: Lane): number {
  let distance = 0;
  let nearest = Number.POSITIVE_INFINITY;
  let k = 0;
  for (let i = 0; i < steps.count; i++) {
    const apart = (j: number) => Math.abs(others.start[j]! - steps.start[i]!);
    while (k + 1 < others.count && apart(k + 1) <= apart(k)) k++;
    if (k < others.count && apart(k) < nearest) {
      nearest = apart(k);
      distance = k - i;
    }
  }
  return distance;
}
