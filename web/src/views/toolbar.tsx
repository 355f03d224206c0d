// Above the timeline: search, a link to the view, the theme.
import { useEffect, useRef, useState } from "preact/hooks";
import { hashOf } from "../hash.ts";
import { switchTheme, useTheme } from "./theme.ts";
import { useActions, useViewState } from "./use_store.ts";

export function Toolbar() {
  const actions = useActions();
  const theme = useTheme();
  return (
    <div class="toolbar">
      <SearchBox />
      <GoTo />
      <span class="space" />
      <button type="button" onClick={() => actions.showAll()}>
        whole run
      </button>
      <CopyLink />
      <button type="button" onClick={switchTheme}>
        {theme === "dark" ? "light" : "dark"}
      </button>
    </div>
  );
}

function SearchBox() {
  const actions = useActions();
  const { query } = useViewState();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    actions.focusSearch = () => input.current?.focus();
  }, [actions]);
  const { count } = actions.hits;
  return (
    <search class="field">
      <input
        ref={input}
        type="search"
        value={query}
        placeholder="search, e.g. >1ms dir:d2h"
        aria-label="Search the whole run"
        onInput={(e) => actions.store.set({ query: e.currentTarget.value })}
        onKeyDown={(e) => {
          if (e.key === "Enter") actions.hit(e.shiftKey ? -1 : 1);
          else if (e.key === "Escape") focusTimeline();
        }}
      />
      <span aria-live="polite">{query === "" ? "" : count === 1 ? "1 hit" : `${count} hits`}</span>
    </search>
  );
}

/** Appears by the key G. */
function GoTo() {
  const actions = useActions();
  const [isOpen, setOpen] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    actions.askForTime = () => setOpen(true);
  }, [actions]);
  useEffect(() => {
    if (isOpen) input.current?.focus();
  }, [isOpen]);
  if (!isOpen) return null;
  const close = () => {
    setOpen(false);
    focusTimeline();
  };
  return (
    <span class="field">
      <input
        ref={input}
        aria-label="Go to a time in ms, or to a step"
        placeholder="12.5 ms, or step 3"
        onKeyDown={(e) => {
          if (e.key === "Escape" || (e.key === "Enter" && actions.goTo(e.currentTarget.value)))
            close();
        }}
        onBlur={() => setOpen(false)}
      />
    </span>
  );
}

function CopyLink() {
  const { store } = useActions();
  const [isDone, setDone] = useState(false);
  const copy = () => {
    const link = location.href.replace(/#.*$/, "") + hashOf(store.state);
    // Not every frame may write to the clipboard; the address bar has the link all the same.
    navigator.clipboard?.writeText(link).then(
      () => setDone(true),
      () => setDone(false),
    );
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button type="button" onClick={copy}>
      {isDone ? "copied" : "copy link"}
    </button>
  );
}

function focusTimeline(): void {
  document.querySelector<HTMLElement>(".surface")?.focus();
}
