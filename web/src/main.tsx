// The program of the page. The static report stands until everything is read; if something cannot be read, it stays.
import { render } from "preact";
import { Actions } from "./actions.ts";
import { ELEMENTS } from "./format.ts";
import { hashOf, stateOfHash } from "./hash.ts";
import { loadEvents, readRun } from "./page/load.ts";
import { Store, type ViewState } from "./view_state.ts";
import { App } from "./views/app.tsx";
import { Comparison } from "./views/comparison.tsx";

async function start(): Promise<void> {
  const run = readRun();
  await loadEvents(run);
  const [from, to] = run.contents.window;
  const initial: ViewState = {
    from,
    to,
    selection: null,
    span: null,
    tab: "details",
    fix: null,
    // A comparison is about the time of steps.
    hidden: new Set(run.isComparison ? run.lanesOf("memory").map((lane) => lane.index) : []),
    marks: [],
    query: "",
    shift: 0,
  };
  const store = new Store({ ...initial, ...stateOfHash(location.hash) }, [
    0,
    Math.max(1000, run.contents.span_ns),
  ]);
  keepHash(store);
  const app = document.getElementById(ELEMENTS.app);
  if (!app) throw new Error(`The page lacks its part "${ELEMENTS.app}"`);
  const actions = new Actions(run, store);
  actions.paths = document.getElementById(ELEMENTS.paths);
  // The document of a comparison stays; only the pictures of its steps, inside the element, make room for the timeline.
  app.replaceChildren();
  if (run.isComparison) render(<Comparison actions={actions} />, app);
  else {
    render(<App actions={actions} />, app);
    document.getElementById(ELEMENTS.static)?.remove();
  }
  performance.mark("turnpike-ready");
}

/** The address follows the view and the view the address, a moment later: some browsers limit how often it may change. */
function keepHash(store: Store): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let own = location.hash;
  store.listen(() => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      own = hashOf(store.state);
      try {
        history.replaceState(null, "", own);
      } catch {
        // Frames made from text have no address of their own to replace, only a hash.
        location.hash = own;
      }
    }, 300);
  });
  addEventListener("hashchange", () => {
    if (location.hash !== own) store.set(stateOfHash(location.hash));
  });
}

start().catch((error: unknown) => {
  // What stands in its place already stays.
  const place = document.createElement("div");
  (document.getElementById(ELEMENTS.app) ?? document.body).append(place);
  render(
    <p class="failure" role="alert">
      The timeline cannot be shown. {error instanceof Error ? error.message : String(error)}
    </p>,
    place,
  );
});
