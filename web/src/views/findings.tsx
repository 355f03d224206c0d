// The findings: where, what, what it saves, and the fix.
import type { Fix } from "../page/contents.ts";
import { type Alternative, type Finding, stepTime, wholeOf } from "../page/report.ts";
import { prose, visible, whereOf } from "../short_name.ts";
import { duration, percent } from "../time_text.ts";
import { useActions, useViewState } from "./use_store.ts";

export function Findings() {
  const { run } = useActions();
  const all = run.report.findings.map((finding, index) => ({ finding, index }));
  const leading = all.filter(({ finding }) => finding.superseded_by === null);
  const others = all.filter(({ finding }) => finding.superseded_by !== null);
  const { verdict, saving_pct_all: all_pct } = run.report;
  const remark = run.contents.wait_remark;
  return (
    <section class="findings" aria-label="Findings">
      {all.length === 0 ? (
        <div class="card">
          <h2>No change is known to save time</h2>
          <p>{prose(verdict?.why ?? "")}</p>
        </div>
      ) : null}
      {leading.map((entry, i) => (
        <FindingCard key={entry.index} {...entry} rank={i + 1} />
      ))}
      {leading.length > 1 && all_pct !== null ? (
        <p>{`All changes together save ${percent(all_pct)} of ${wholeOf(run.report).time}.`}</p>
      ) : null}
      {remark ? <p class="hint">{prose(remark)}</p> : null}
      {others.length > 0 ? (
        <details>
          <summary>{others.length} more at the same lines</summary>
          {others.map((entry) => (
            <FindingCard key={entry.index} {...entry} rank={null} />
          ))}
        </details>
      ) : null}
    </section>
  );
}

function FindingCard({
  finding,
  index,
  rank,
}: {
  finding: Finding;
  index: number;
  rank: number | null;
}) {
  const actions = useActions();
  const state = useViewState();
  const { fix, site } = actions.run.contents.findings[index] ?? {};
  const isChosen = state.selection?.kind === "finding" && state.selection.index === index;
  const hasPrediction = actions.run.lanes.some((lane) => lane.entry.fix === index);
  return (
    <article class={isChosen ? "card chosen" : "card"}>
      <header>
        <h2>
          {rank ? <span class="rank">{rank}</span> : null}{" "}
          {finding.site ? (
            <code>{visible(whereOf(finding.site, finding.library_site))}</code>
          ) : null}{" "}
          {finding.site ? prose(finding.title) : capitalised(prose(finding.title))}
        </h2>
        <Saving finding={finding} />
      </header>
      <p class="advice">Fix: {prose(finding.advice)}</p>
      {fix ? <FixText fix={fix} /> : null}
      <p class="buttons">
        {site !== undefined ? (
          <button
            type="button"
            aria-pressed={isChosen}
            onClick={() => actions.selectFinding(index)}
          >
            show in the timeline
          </button>
        ) : null}
        {hasPrediction ? (
          <button
            type="button"
            aria-pressed={state.fix === index}
            onClick={() => actions.store.set({ fix: state.fix === index ? null : index })}
          >
            with the fix
          </button>
        ) : null}
      </p>
      {(finding.alternatives ?? []).map((other) => (
        <p key={other.advice}>
          Or: {prose(other.advice)} <AlternativeSaving finding={finding} other={other} />
        </p>
      ))}
      {finding.evidence ? <p>Why: {prose(finding.evidence)}</p> : null}
      {finding.saving_reason ? <p>Gain: {prose(finding.saving_reason)}</p> : null}
    </article>
  );
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** What part the expected saving is, and from where to where it may be: " (16 %; 1.68 ms to 3.78 ms)". */
function part(expected: number, low: number, high: number, pctOfNs: number): string {
  const range = low === high ? "" : `; ${low > 0 ? duration(low) : "up"} to ${duration(high)}`;
  return ` (${percent(pctOfNs * expected)}${range})`;
}

function AlternativeSaving({ finding, other }: { finding: Finding; other: Alternative }) {
  const { run } = useActions();
  const { saving_step_ns: saved, saving_pct: share } = finding;
  const { saving_step_low_ns: low, saving_step_high_ns: high } = other;
  if (saved === null || share === null || low === null || high === null) return null;
  const expected = other.saving_step_expected_ns ?? high;
  const shown = part(expected, low, high, share / Math.max(1, saved));
  return <>{`Saves ${duration(expected)}${wholeOf(run.report).each}${shown}.`}</>;
}

function Saving({ finding }: { finding: Finding }) {
  const { run } = useActions();
  const { saving_step_ns: saved, saving_pct: share } = finding;
  if (saved === null || share === null)
    return finding.severity === "error" ? (
      <strong class="saving">results may be wrong</strong>
    ) : null;
  const [low, high] = [finding.saving_step_low_ns ?? saved, finding.saving_step_high_ns ?? saved];
  const expected = finding.saving_step_expected_ns ?? saved;
  const step = stepTime(run.report);
  // What only some steps could save may be longer than the median step.
  const each = wholeOf(run.report).each + (step && expected >= step ? " on average" : "");
  return (
    <strong class="saving">
      <span class="whole">{`saves ${duration(expected)}${each}`}</span>
      <span class="whole">{part(expected, low, high, share / Math.max(1, saved))}</span>
      {step && step > expected ? (
        <span class="whole">{` → ${duration(step - expected)}`}</span>
      ) : null}
    </strong>
  );
}

function FixText({ fix }: { fix: Fix }) {
  return (
    <>
      <pre class="diff">
        {fix.before.map((line) => (
          <del key={line}>{`- ${visible(line)}\n`}</del>
        ))}
        {fix.after.map((line) => (
          <ins key={line}>{`+ ${visible(line)}\n`}</ins>
        ))}
      </pre>
      {fix.needs ? (
        <p class="hint">
          with <code>{visible(fix.needs)}</code>
        </p>
      ) : null}
    </>
  );
}
