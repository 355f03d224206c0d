// The page: verdict, findings and source on top, the timeline, and tabs below.
import type { Actions } from "../actions.ts";
import { prose } from "../short_name.ts";
import { Findings } from "./findings.tsx";
import { Legend } from "./legend.tsx";
import { missingOf } from "./run_tab.tsx";
import { SourceCard } from "./source.tsx";
import { StepBar } from "./step_bar.tsx";
import { Tabs } from "./tabs.tsx";
import { Timeline } from "./timeline.tsx";
import { Toolbar } from "./toolbar.tsx";
import { Context } from "./use_store.ts";

/** Without the advice, which the tab "Run" has. */
function firstSentence(text: string): string {
  return text.split(/(?<=\.) /)[0]!;
}

export function App({ actions }: { actions: Actions }) {
  const { contents, report } = actions.run;
  const missing = missingOf(report.losses, report.loss_sentences, contents.left_out);
  return (
    <Context.Provider value={actions}>
      <main>
        <header class="verdict">
          <h1>{prose(contents.headline)}</h1>
          <p>{prose(contents.details)}</p>
          {missing.length > 0 ? (
            <p class="missing">
              Not everything is here: {prose(missing.map(firstSentence).join(" "))}
            </p>
          ) : null}
        </header>
        <StepBar report={report} />
        <div class="cards">
          <Findings />
          <SourceCard />
        </div>
        <Toolbar />
        <Timeline />
        <Legend />
        <Tabs />
      </main>
    </Context.Provider>
  );
}
