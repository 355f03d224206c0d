import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import type { Actions } from "../actions.ts";
import type { ViewState } from "../view_state.ts";

/** What every view needs. The page provides it once. */
export const Context = createContext<Actions>(undefined as unknown as Actions);

export function useActions(): Actions {
  return useContext(Context);
}

/** The state of the view; the component is drawn again whenever it changes. */
export function useViewState(): ViewState {
  const { store } = useActions();
  const [state, setState] = useState(store.state);
  useEffect(() => store.listen(() => setState(store.state)), [store]);
  return state;
}

/** The state, at most a few times a second: for tables that are expensive to make while the window moves. */
export function useCalmViewState(delay = 150): ViewState {
  const { store } = useActions();
  const [state, setState] = useState(store.state);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = store.listen(() => {
      clearTimeout(timer);
      timer = setTimeout(() => setState(store.state), delay);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [store, delay]);
  return state;
}
