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

export class Run {
  readonly lanes: Lane[] = [];
  private readonly pyramids: (Pyramid | undefined)[] = [];
  readonly events: number;

  constructor(
    readonly contents: Contents,
    readonly report: Report,
  ) {
    let number = 0;
    contents.lanes.forEach((entry, index) => {
      const lane = new Lane(entry, index, number);
      this.lanes.push(lane);
      number += lane.count;
    });
    this.events = number;
  }

  /** Made at the first use, because only lanes that are seen need one. */
  pyramid(lane: Lane): Pyramid {
    const pyramid = this.pyramids[lane.index] ?? new Pyramid(lane);
    this.pyramids[lane.index] = pyramid;
    return pyramid;
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

  /** The recorded steps. */
  get steps(): Lane | undefined {
    return this.lanes.find((lane) => lane.entry.kind === "steps" && lane.entry.fix === undefined);
  }
}
