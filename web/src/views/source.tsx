// Source lines with their cost in the margin. Without source text, the lines that cost something are listed all the same.
import { useEffect, useRef } from "preact/hooks";
import { atOnce, besideWaits } from "../model/line_costs.ts";
import type { SourceExcerpt } from "../page/contents.ts";
import { type LineTime, type Whole, wholeOf } from "../page/report.ts";
import { visible } from "../short_name.ts";
import { duration } from "../time_text.ts";
import { useActions, useViewState } from "./use_store.ts";

const LINES_IN_CARD = 7;
/** Without their text, a line of the program takes two lines of the card. */
const LISTED_IN_CARD = 5;
const LISTED_IN_TAB = 50;

interface Shown {
  costs: LineTime[];
  most: number;
  steps: number;
  /** What the costs are of. */
  of: Whole;
}

function useCosts(): Shown {
  const { run } = useActions();
  const costs = run.report.lines;
  return {
    costs,
    most: Math.max(1, costs[0]?.time_ns ?? 0),
    steps: run.report.steps?.count || 1,
    of: wholeOf(run.report),
  };
}

/** The card on the first screen: a few lines around the chosen site. */
export function SourceCard() {
  const actions = useActions();
  useViewState();
  const shown = useCosts();
  const { contents } = actions.run;
  const site =
    actions.shownSite ?? contents.findings.find((finding) => finding.site !== undefined)?.site;
  const place = site === undefined ? undefined : contents.sites[site];
  const file = place?.file ?? shown.costs[0]?.file;
  const excerpts = contents.source?.filter((candidate) => candidate.file === file) ?? [];
  const line = place?.line ?? shown.costs.find((cost) => cost.file === file)?.line;
  const excerpt = excerpts.find((candidate) => hasLine(candidate, line)) ?? excerpts[0];
  const hasCosts = shown.costs.some((cost) => cost.time_ns > 0);
  const hasLines = excerpt !== undefined || hasCosts;
  return (
    <section class="card source" aria-label="Source">
      <h2>
        <code>{hasLines && file ? visible(fileName(file)) : "source"}</code>{" "}
        {hasLines ? <small>cost of {shown.of.name} beside the line</small> : null}
      </h2>
      {excerpt ? (
        <Excerpt excerpt={around(excerpt, place?.line, shown)} shown={shown} chosen={place?.line} />
      ) : hasCosts ? (
        <CostList shown={shown} chosen={place?.site} most={LISTED_IN_CARD} />
      ) : (
        <p class="hint">
          No line is known at which the CPU waits or copies: the recording has no stacks of them.
        </p>
      )}
    </section>
  );
}

/** The tab: every excerpt as a whole. */
export function SourceTab() {
  const actions = useActions();
  useViewState();
  const shown = useCosts();
  const { contents } = actions.run;
  const site = actions.shownSite;
  const place = site === null ? undefined : contents.sites[site];
  const chosen = useRef<HTMLElement>(null);
  useEffect(() => {
    chosen.current?.querySelector(".chosen")?.scrollIntoView({ block: "nearest" });
  }, []);
  return (
    <section ref={chosen} class="source">
      {(contents.source ?? []).map((excerpt) => (
        <div key={`${excerpt.file}:${excerpt.first_line}`}>
          <h3>
            <code>{visible(excerpt.file)}</code>
          </h3>
          <Excerpt
            excerpt={excerpt}
            shown={shown}
            chosen={place?.file === excerpt.file ? place.line : undefined}
          />
        </div>
      ))}
      {contents.source?.length ? null : (
        <>
          <p>This file holds no source text. {contents.no_source}</p>
          <CostList shown={shown} chosen={place?.site} most={LISTED_IN_TAB} />
        </>
      )}
    </section>
  );
}

function hasLine({ first_line, lines }: SourceExcerpt, line: number | undefined): boolean {
  return line !== undefined && line >= first_line && line < first_line + lines.length;
}

/** The lines nearest to the chosen one that fit on the card, lines with a cost first. */
function around(excerpt: SourceExcerpt, line: number | undefined, { costs }: Shown): SourceExcerpt {
  const middle =
    line ?? costs.find((cost) => cost.file === excerpt.file)?.line ?? excerpt.first_line;
  const first = Math.max(
    0,
    Math.min(excerpt.lines.length - LINES_IN_CARD, middle - excerpt.first_line - 4),
  );
  return {
    file: excerpt.file,
    first_line: excerpt.first_line + first,
    lines: excerpt.lines.slice(first, first + LINES_IN_CARD),
  };
}

function Excerpt(props: { excerpt: SourceExcerpt; shown: Shown; chosen: number | undefined }) {
  const { excerpt, shown, chosen } = props;
  const indent = Math.min(
    ...excerpt.lines.filter((text) => text.trim()).map((text) => text.search(/\S/)),
  );
  return (
    <ol class="lines">
      {excerpt.lines.map((text, i) => {
        const line = excerpt.first_line + i;
        const cost = shown.costs.find(
          (entry) => entry.file === excerpt.file && entry.line === line,
        );
        return (
          <li key={line} class={line === chosen ? "chosen" : ""}>
            <Margin cost={cost} shown={shown} />
            <span class="number">{line}</span>
            <code>{visible(text.slice(Number.isFinite(indent) ? indent : 0)) || " "}</code>
          </li>
        );
      })}
    </ol>
  );
}

function Margin({ cost, shown }: { cost: LineTime | undefined; shown: Shown }) {
  if (!cost || cost.time_ns === 0) return <span class="margin" />;
  const width = (ns: number) => ({ width: `${(100 * ns) / shown.most}%` });
  return (
    <span class="margin" title={costWords(cost, shown)}>
      <span class="sr">{costWords(cost, shown)}</span>
      <span class="bars">
        <i class="wait" style={width(cost.waits_ns)} />
        <i class="copies" style={width(besideWaits(cost))} />
      </span>
      <b>{duration(cost.time_ns / shown.steps)}</b>
    </span>
  );
}

function costWords(cost: LineTime, shown: Shown): string {
  return partsOf(cost, shown) + shown.of.each;
}

function partsOf(cost: LineTime, { steps }: Shown): string {
  const parts: string[] = [];
  if (cost.waits_ns > 0) parts.push(`the CPU waits ${duration(cost.waits_ns / steps)}`);
  if (cost.copies_ns > 0) parts.push(`copies take ${duration(cost.copies_ns / steps)}`);
  if (atOnce(cost) > 0) parts.push(`${duration(atOnce(cost) / steps)} of it at the same time`);
  if (cost.gpu_idle_ns) parts.push(`the GPU idles ${duration(cost.gpu_idle_ns / steps)} meanwhile`);
  return parts.join(", ");
}

function CostList(props: { shown: Shown; chosen: string | undefined; most: number }) {
  const { shown, chosen, most } = props;
  return (
    <ol class="lines">
      {shown.costs
        .filter((cost) => cost.time_ns > 0)
        .slice(0, most)
        .map((cost) => {
          const place = `${fileName(cost.file)}:${cost.line}`;
          return (
            <li
              key={`${cost.file}:${cost.line}`}
              class={place === chosen ? "listed chosen" : "listed"}
            >
              <Margin cost={cost} shown={shown} />
              <code>{visible(place)}</code> <small>{partsOf(cost, shown)}</small>
            </li>
          );
        })}
    </ol>
  );
}

function fileName(path: string): string {
  return path.split(/[/\\]/).at(-1) ?? path;
}
