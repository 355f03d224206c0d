import { TABS, type Tab } from "../view_state.ts";
import { DetailsTab } from "./details.tsx";
import { HelpTab } from "./help_tab.tsx";
import { InViewTab } from "./in_view.tsx";
import { RunTab } from "./run_tab.tsx";
import { TransfersTab, WaitsTab } from "./site_tabs.tsx";
import { SourceTab } from "./source.tsx";
import { useActions, useViewState } from "./use_store.ts";

const VIEWS: Record<Tab, [string, () => preact.JSX.Element]> = {
  details: ["Details", DetailsTab],
  view: ["Table of the view", InViewTab],
  transfers: ["Transfers", TransfersTab],
  waits: ["Waits", WaitsTab],
  source: ["Source", SourceTab],
  run: ["Run", RunTab],
  help: ["Help", HelpTab],
};

export function Tabs() {
  const actions = useActions();
  useViewState();
  const { tab, tabs } = actions;
  const [, View] = VIEWS[tab];
  const move = (e: KeyboardEvent) => {
    const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    e.preventDefault();
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length]!;
    actions.showTab(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <section class="tabs">
      <div role="tablist" aria-label="Views" tabIndex={-1} onKeyDown={move}>
        {tabs.map((name) => (
          <button
            key={name}
            id={`tab-${name}`}
            type="button"
            role="tab"
            aria-selected={name === tab}
            aria-controls="tab-panel"
            tabIndex={name === tab ? 0 : -1}
            onClick={() => actions.showTab(name)}
          >
            {VIEWS[name][0]} <kbd>{TABS.indexOf(name) + 1}</kbd>
          </button>
        ))}
      </div>
      <div id="tab-panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        <View />
      </div>
    </section>
  );
}
