// The tree of call paths as the document has it, moved into a tab.
import { useEffect, useRef } from "preact/hooks";
import { useActions } from "./use_store.ts";

export function CallPaths() {
  const { paths } = useActions();
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (paths) place.current?.append(paths);
  }, [paths]);
  return paths ? <div class="document" ref={place} /> : null;
}
