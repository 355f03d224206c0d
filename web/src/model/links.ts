// Cause and effect: launch -> execution -> wait -> gap. Every event names at most one cause; effects are found by looking at
// all events, which takes 1 ms for a million of them.
import type { EventRef, Run } from "./run.ts";

export function causeOf(run: Run, event: EventRef): EventRef | undefined {
  const number = event.lane.cause(event.i);
  return number === undefined ? undefined : run.event(number);
}

/** The events that `event` caused, in the order of lanes, at most `limit`. */
export function effectsOf(run: Run, event: EventRef, limit = 200): EventRef[] {
  const number = run.numberOf(event);
  const effects: EventRef[] = [];
  for (const lane of run.lanes) {
    let i = lane.link.indexOf(number);
    while (i >= 0 && effects.length < limit) {
      effects.push({ lane, i });
      i = lane.link.indexOf(number, i + 1);
    }
  }
  return effects;
}
