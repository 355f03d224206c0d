// The page of two runs: the timeline alone, because the document around it stays.
import type { Actions } from "../actions.ts";
import { Legend } from "./legend.tsx";
import { Tabs } from "./tabs.tsx";
import { Timeline } from "./timeline.tsx";
import { Toolbar } from "./toolbar.tsx";
import { Context } from "./use_store.ts";

export function Comparison({ actions }: { actions: Actions }) {
  return (
    <Context.Provider value={actions}>
      <h2 class="sr">The timelines of both runs</h2>
      <Toolbar />
      <Timeline />
      <Legend />
      <Tabs />
    </Context.Provider>
  );
}
