// The timeline in sentences, made from its numbers, for those who do not see it.
import { className, isWaiting } from "./format.ts";
import type { EventRef, Run } from "./model/run.ts";
import { visible } from "./short_name.ts";
import { percent, spokenDuration } from "./time_text.ts";
import { classWords } from "./words.ts";

/** "GPU idle: a copy held the CPU, 665 microseconds, train.py:42, step 21". */
export function spokenEvent(run: Run, event: EventRef): string {
  const { lane, i } = event;
  const kind = className(lane.eventClass[i]!);
  const parts = [classWords(kind)];
  if (!isWaiting(lane.eventClass[i]!)) parts.push(run.shortNameOf(event));
  parts.push(spokenDuration(lane.duration(i)));
  const site = run.siteText(event);
  if (site) parts.push(visible(site));
  const step = run.stepOf(event);
  if (step !== undefined && kind !== "step") parts.push(`step ${step}`);
  return parts.join(", ");
}

/** What the picture of the window shows. */
export function spokenWindow(run: Run, from: number, to: number): string {
  const sentences = [
    `Timeline of ${spokenDuration(to - from)}, beginning ${spokenDuration(from)} after the start.`,
  ];
  for (const { name, lanes } of run.sides)
    for (const lane of lanes) {
      if (lane.entry.kind !== "state" || lane.entry.fix !== undefined || !lane.waitingBefore)
        continue;
      const pyramid = run.pyramid(lane);
      const idle =
        pyramid.busyUntil(to, lane.waitingBefore) - pyramid.busyUntil(from, lane.waitingBefore);
      const gpu = `GPU ${lane.entry.device ?? 0}${name === "" ? "" : ` ${name} the change`}`;
      sentences.push(`${gpu} waits ${percent((100 * idle) / (to - from))} of it.`);
    }
  return sentences.join(" ");
}
