// What was recorded, with what, and what is missing.
import { prose, visible } from "../short_name.ts";
import { duration } from "../time_text.ts";
import { useActions } from "./use_store.ts";

export function RunTab() {
  const { report, contents, events } = useActions().run;
  const { source } = report;
  const facts: [string, string][] = [
    ["program", source.program ?? "?"],
    ["recorded", duration(report.span_ns)],
    ["detail", source.detail ?? "?"],
    ["events in this file", String(events)],
    [
      "source text in this file",
      contents.source?.length ? contents.source.map((part) => part.file).join(", ") : "none",
    ],
    ...Object.entries(source.versions).map(([name, version]): [string, string] => [
      name,
      version ?? "?",
    ]),
  ];
  return (
    <div class="columns">
      <dl>
        {facts.map(([name, value]) => (
          <>
            <dt key={name}>{name}</dt>
            <dd>{visible(value)}</dd>
          </>
        ))}
      </dl>
      <Missing />
    </div>
  );
}

/** What the recording or this file lacks, in sentences. */
export function missingOf(
  losses: Record<string, number>,
  sentences: Record<string, string>,
  leftOut: readonly string[],
): string[] {
  const lost = Object.entries(losses).map(([name, count]) => {
    const [what, ...advice] = (sentences[name] ?? name).split(/(?<=\.) /);
    const counted = count === 1 ? what! : `${what!.replace(/\.$/, "")} (${count}).`;
    return [counted, ...advice].join(" ");
  });
  return [...lost, ...leftOut];
}

function Missing() {
  const { report, contents } = useActions().run;
  const missing = missingOf(report.losses, report.loss_sentences, contents.left_out);
  return (
    <section>
      <h3>What is missing</h3>
      {missing.length === 0 ? <p>Nothing was lost or left out.</p> : null}
      <ul>
        {missing.map((sentence) => (
          <li key={sentence}>{prose(sentence)}</li>
        ))}
        {report.source.notes.map((note) => (
          <li key={note}>{prose(note)}</li>
        ))}
      </ul>
      <p class="hint">
        The page is part of Turnpike. It contains Preact, © Jason Miller, under the MIT licence.
      </p>
    </section>
  );
}
