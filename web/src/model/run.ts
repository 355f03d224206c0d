// The whole run: what the report says, and every lane with its events.
import type { Contents } from "../page/contents.ts";
import type { Report } from "../page/report.ts";
import { eventName } from "../short_name.ts";
import { Lane } from "./lane.ts";
import { Pyramid } from "./pyramid.ts";

export interface EventRef {
  lane: Lane;
  i: number;
}

/** One of the runs on the page. */
export interface Side {
  /** "" where the page has only one. */
  name: "" | "before" | "after";
  lanes: Lane[];
}

export class Run {
  readonly lanes: Lane[] = [];
  /** The run; or the run before a change and the run after it, on one time axis. */
  readonly sides: readonly Side[];
  private readonly pyramids: (Pyramid | undefined)[] = [];
  /** By how much the run after the change is moved from where the file has it. */
  private shifted = 0;
  readonly events: number;

  constructor(
    readonly contents: Contents,
    private readonly ownReport: Report | null,
  ) {
    let number = 0;
    contents.lanes.forEach((entry, index) => {
      const lane = new Lane(entry, index, number);
      this.lanes.push(lane);
      number += lane.count;
    });
    this.events = number;
    const after = contents.after_group;
    this.sides =
      after === undefined
        ? [{ name: "", lanes: this.lanes }]
        : [
            { name: "before", lanes: this.lanes.filter(({ entry }) => entry.group < after) },
            { name: "after", lanes: this.lanes.filter(({ entry }) => entry.group >= after) },
          ];
  }

  /** Whether the timeline has nothing to show. */
  get isEmpty(): boolean {
    return this.events === 0 && !this.lanes.some(({ entry }) => entry.curve?.length);
  }

  get isComparison(): boolean {
    return this.sides.length > 1;
  }

  /** Of a page with one run. */
  get report(): Report {
    if (!this.ownReport) throw new Error("A comparison has no report of one run");
    return this.ownReport;
  }

  /** Made at the first use, because only lanes that are seen need one. */
  pyramid(lane: Lane): Pyramid {
    const pyramid = this.pyramids[lane.index] ?? new Pyramid(lane);
    this.pyramids[lane.index] = pyramid;
    return pyramid;
  }

  /** Moves the run after the change to `ns` later than the file has it, so that other steps begin together. */
  shiftAfter(ns: number): void {
    const by = ns - this.shifted;
    const after = this.sides[1];
    if (by === 0 || !after) return;
    for (const lane of after.lanes) {
      lane.shift(by);
      this.pyramids[lane.index]?.shift(by);
    }
    this.shifted = ns;
  }

  numberOf({ lane, i }: EventRef): number {
    return lane.firstNumber + i;
  }

  /** Looks up an event by its number. Returns undefined for an unknown number. */
  event(number: number): EventRef | undefined {
    const lane = this.lanes.findLast(
      (candidate) => candidate.firstNumber <= number && candidate.count > 0,
    );
    const i = lane ? number - lane.firstNumber : 0;
    return lane && Number.isInteger(i) && i < lane.count ? { lane, i } : undefined;
  }

  nameOf({ lane, i }: EventRef): string {
    const index = lane.entry.names?.[lane.name[i] ?? 0];
    return index === undefined ? lane.entry.title : (this.contents.strings[index] ?? "?");
  }

  shortNameOf(event: EventRef): string {
    return eventName(this.nameOf(event), event.lane.eventClass[event.i]!);
  }

  /** Index into the sites; undefined if the event has none. */
  siteOf({ lane, i }: EventRef): number | undefined {
    const site = lane.site[i];
    return site && site <= this.contents.sites.length ? site - 1 : undefined;
  }

  siteText(event: EventRef): string | undefined {
    const site = this.siteOf(event);
    return site === undefined ? undefined : this.contents.sites[site]!.site;
  }

  lanesOf(...kinds: string[]): Lane[] {
    return this.lanes.filter((lane) => kinds.includes(lane.entry.kind));
  }

  /** The recorded steps; of a comparison, those of the run before the change. */
  get steps(): Lane | undefined {
    return stepsAmong(this.sides[0]!.lanes);
  }

  /** The step in which this event begins. */
  stepOf({ lane, i }: EventRef): number | undefined {
    const side = this.sides.find(({ lanes }) => lanes.includes(lane));
    return side && stepsAmong(side.lanes)?.at(lane.start[i]!);
  }
}

export function stepsAmong(lanes: readonly Lane[]): Lane | undefined {
  return lanes.find((lane) => lane.entry.kind === "steps" && lane.entry.fix === undefined);
}
