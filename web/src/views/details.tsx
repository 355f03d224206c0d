// Everything about the selected event, and the sums of the selected stretch or of the window.
import { type ClassName, className } from "../format.ts";
import { causeOf, effectsOf } from "../model/links.ts";
import type { EventRef } from "../model/run.ts";
import { type Sums, sumsOf } from "../model/sums.ts";
import { visible } from "../short_name.ts";
import { duration, moment, percent, size } from "../time_text.ts";
import { classWords } from "../words.ts";
import { useActions, useCalmViewState } from "./use_store.ts";

const MOST_DEVICES = 16;

export function DetailsTab() {
  const actions = useActions();
  const state = useCalmViewState(60);
  const [from, to] = state.span ?? [state.from, state.to];
  const event = actions.event;
  return (
    <div class="columns">
      {event ? (
        <EventDetails event={event} />
      ) : actions.run.isComparison ? null : (
        <p class="hint">Click an event, or press N for the next GPU gap.</p>
      )}
      {actions.run.sides.map(({ name, lanes }) => (
        <SumsOf
          key={name}
          side={name}
          sums={sumsOf(actions.run, from, to, lanes)}
          isSelected={state.span !== null}
        />
      ))}
    </div>
  );
}

function EventDetails({ event }: { event: EventRef }) {
  const actions = useActions();
  const { run } = actions;
  const { lane, i } = event;
  const [start, ns] = [lane.start[i]!, lane.duration(i)];
  const cause = causeOf(run, event);
  const effects = effectsOf(run, event, 5);
  const site = run.siteOf(event);
  const entry = site === undefined ? undefined : run.contents.sites[site];
  const bytes = lane.bytes?.[i];
  const step = run.stepOf(event);
  return (
    <section aria-label="Selected event">
      <h3>{visible(run.nameOf(event)).slice(0, 300)}</h3>
      <dl>
        <Fact name="what" value={classWords(className(lane.eventClass[i]!))} />
        <Fact name="row" value={lane.entry.title} />
        <Fact
          name="when"
          value={`${moment(start, 1000)}${step === undefined ? "" : `, step ${step}`}`}
        />
        <Fact name="how long" value={duration(ns)} />
        {bytes !== undefined && bytes > 0 ? (
          <Fact
            name="size"
            value={`${size(bytes)}${ns > 0 ? ` at ${(bytes / ns).toFixed(1)} GB/s` : ""}`}
          />
        ) : null}
        {lane.exposed && lane.entry.kind.startsWith("copy_") ? (
          <Fact
            name="no kernel meanwhile"
            value={`${duration(lane.exposed[i]!)} of ${duration(ns)}`}
          />
        ) : null}
        {entry ? <Fact name="line" value={visible(entry.site)} /> : null}
        {cause ? <Link name="caused by" event={cause} /> : null}
        {effects.map((effect) => (
          <Link key={run.numberOf(effect)} name="causes" event={effect} />
        ))}
      </dl>
      {entry?.stack?.length ? (
        <details>
          <summary>stack</summary>
          <ol class="stack">
            {entry.stack.map((frame) => (
              <li key={frame}>{visible(frame)}</li>
            ))}
          </ol>
        </details>
      ) : null}
    </section>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}

function Link({ name, event }: { name: string; event: EventRef }) {
  const actions = useActions();
  const { run } = actions;
  const { lane, i } = event;
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <button type="button" class="link" onClick={() => actions.select(event)}>
          {visible(run.nameOf(event)).slice(0, 80)}
        </button>{" "}
        on {lane.entry.title}, {duration(lane.duration(i))}
      </dd>
    </>
  );
}

/** Nothing is shown as nothing: a zero in each cell would hide the figures that count. */
function Figure({ value, text }: { value: number; text(value: number): string }) {
  return <td class="number">{value > 0 ? text(value) : ""}</td>;
}

/** Waits for another rank first: they are a part of the kernels' time, which stands above. */
function byRank([a]: [ClassName, number], [b]: [ClassName, number]): number {
  return Number(b === "idle_rank") - Number(a === "idle_rank");
}

function SumsOf({ side, sums, isSelected }: { side: string; sums: Sums; isSelected: boolean }) {
  const { run } = useActions();
  const span = sums.to - sums.from;
  const hasPython = sums.lines.some((line) => line.python_ns > 0);
  return (
    <section aria-label={side === "" ? "Sums" : `Sums ${side} the change`}>
      <h3>
        {side === "" ? "In" : side === "before" ? "Before: in" : "After: in"}{" "}
        {isSelected ? "the selected" : "the visible"} {duration(span)}
      </h3>
      <dl>
        {sums.devices.slice(0, MOST_DEVICES).map((device) => (
          <>
            <Fact
              key={`gpu${device.device}`}
              name={`GPU ${device.device} in kernels`}
              value={
                device.kernels_ns === null
                  ? "not recorded"
                  : `${duration(device.kernels_ns)} (${percent((100 * device.kernels_ns) / span)})`
              }
            />
            {[...device.idle].sort(byRank).map(([cause, ns]) => (
              <Fact
                key={cause}
                name={cause === "idle_rank" ? "of it, waits for another rank" : classWords(cause)}
                value={`${duration(ns)} (${percent((100 * ns) / span)})`}
              />
            ))}
            {[...device.copies].map(([title, copies]) => (
              <Fact
                key={title}
                name={title}
                value={`${copies.count}, ${size(copies.bytes)}, ${duration(copies.ns)}`}
              />
            ))}
          </>
        ))}
        {sums.devices.length > MOST_DEVICES ? (
          <Fact name="not shown" value={`${sums.devices.length - MOST_DEVICES} more GPUs`} />
        ) : null}
        <Fact name="CPU waits" value={duration(sums.blocked_ns)} />
        <Fact name="other CUDA calls" value={String(sums.calls)} />
      </dl>
      {sums.lines.length > 0 ? (
        <table>
          <thead>
            <tr>
              <th scope="col">line</th>
              {["CPU waits", "GPU idle after it", "copies"].map((name) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
              {hasPython ? (
                <th scope="col" class="number">
                  Python there
                </th>
              ) : null}
            </tr>
          </thead>
          <tbody>
            {sums.lines.slice(0, 8).map((line) => (
              <tr key={line.site}>
                <th scope="row">{visible(run.contents.sites[line.site]!.site)}</th>
                <Figure value={line.blocked_ns} text={duration} />
                <Figure value={line.idle_ns} text={duration} />
                <Figure value={line.bytes} text={size} />
                {hasPython ? <Figure value={line.python_ns} text={duration} /> : null}
              </tr>
            ))}
          </tbody>
        </table>
      ) : null}
    </section>
  );
}
