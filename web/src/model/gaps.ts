// Ways from one idle stretch to the next, and among events of the same line.
import { isWaiting } from "../format.ts";
import type { EventRef, Run } from "./run.ts";

function gapsOf(run: Run): EventRef[] {
  const gaps: EventRef[] = [];
  for (const lane of run.lanesOf("state"))
    if (lane.entry.fix === undefined)
      for (let i = 0; i < lane.count; i++)
        if (isWaiting(lane.eventClass[i]!)) gaps.push({ lane, i });
  return gaps;
}

const startOf = ({ lane, i }: EventRef) => lane.start[i]!;
const lengthOf = ({ lane, i }: EventRef) => lane.duration(i);

/** The next GPU gap after `time` that lasts at least `least`, or the one before with `direction` -1. */
export function nextGap(
  run: Run,
  time: number,
  direction: 1 | -1,
  least: number,
): EventRef | undefined {
  let best: EventRef | undefined;
  for (const gap of gapsOf(run)) {
    const distance = (startOf(gap) - time) * direction;
    if (distance <= 0 || lengthOf(gap) < least) continue;
    if (!best || distance < (startOf(best) - time) * direction) best = gap;
  }
  return best;
}

/** The gap that is next in the order of lengths: shorter with `direction` 1. Without a current one, the longest. */
export function gapByLength(
  run: Run,
  current: EventRef | undefined,
  direction: 1 | -1,
): EventRef | undefined {
  const gaps = gapsOf(run).sort((a, b) => lengthOf(b) - lengthOf(a) || startOf(a) - startOf(b));
  const at = gaps.findIndex((gap) => gap.lane === current?.lane && gap.i === current.i);
  return at < 0 ? gaps[0] : gaps[at + direction];
}

/** The next event of this site: what waits for it or was caused by it, in the order of time. */
export function nextOfSite(
  run: Run,
  site: number,
  time: number,
  direction: 1 | -1,
): EventRef | undefined {
  let best: EventRef | undefined;
  for (const lane of run.lanes) {
    // What a line does is worth a stop; that samples saw it is not.
    if (lane.entry.fix !== undefined || ["state", "python"].includes(lane.entry.kind)) continue;
    let i = direction === 1 ? lane.firstEndingAfter(time) : lane.firstStartingAt(time) - 1;
    for (; i >= 0 && i < lane.count; i += direction) {
      const distance = (lane.start[i]! - time) * direction;
      if (lane.site[i] !== site + 1 || distance <= 0) continue;
      if (!best || distance < (startOf(best) - time) * direction) best = { lane, i };
      break;
    }
  }
  return best;
}
