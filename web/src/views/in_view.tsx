// The timeline's window as a table: for screen readers, for copying, and for those who like tables.
import { className } from "../format.ts";
import { layoutOf } from "../layout.ts";
import type { EventRef } from "../model/run.ts";
import { visible } from "../short_name.ts";
import { duration, moment } from "../time_text.ts";
import { classWords } from "../words.ts";
import { Table } from "./table.tsx";
import { useActions, useCalmViewState } from "./use_store.ts";

const MOST_ROWS = 500;

export function InViewTab() {
  const actions = useActions();
  const state = useCalmViewState();
  const { run } = actions;
  const events: EventRef[] = [];
  let count = 0;
  for (const { lane } of layoutOf(run, state).rows) {
    if (!lane) continue;
    const first = lane.firstEndingAfter(state.from);
    const last = lane.firstStartingAt(state.to);
    count += Math.max(0, last - first);
    for (let i = first; i < last; i++) {
      // The longest are worth a row; a window of a million events has no room for all.
      events.push({ lane, i });
    }
    if (events.length > 4 * MOST_ROWS) keepLongest(events);
  }
  keepLongest(events);
  events.sort((a, b) => a.lane.start[a.i]! - b.lane.start[b.i]!);
  return (
    <>
      <p>
        {count === 1 ? "1 event is" : `${count} events are`} in view.
        {count > MOST_ROWS ? ` These are the ${MOST_ROWS} longest.` : ""}
      </p>
      <Table
        columns={["start", "duration", "what", "name", "row", "line"]}
        rows={events.map((event) => {
          const { lane, i } = event;
          return {
            key: run.numberOf(event),
            cells: [
              { text: moment(lane.start[i]!, 1000), order: lane.start[i]! },
              { text: duration(lane.duration(i)), order: lane.duration(i) },
              { text: classWords(className(lane.eventClass[i]!)) },
              { text: run.shortNameOf(event), onClick: () => actions.select(event) },
              { text: lane.entry.title },
              { text: visible(run.siteText(event) ?? "") },
            ],
          };
        })}
      />
    </>
  );
}

function keepLongest(events: EventRef[]): void {
  if (events.length <= MOST_ROWS) return;
  events.sort((a, b) => b.lane.duration(b.i) - a.lane.duration(a.i));
  events.length = MOST_ROWS;
}
