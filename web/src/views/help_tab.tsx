import { KEYS } from "../keys.ts";
import { useActions } from "./use_store.ts";

export function HelpTab() {
  const { tabs } = useActions();
  return (
    <div>
      <p>
        Keys work while the timeline has the focus. Drag to select a stretch of time, hold Shift and
        drag to move, turn the wheel with Ctrl to zoom. In the search box: words of a name,{" "}
        <code>line:train.py:42</code>, <code>&gt;1ms</code>, <code>dir:d2h</code>,{" "}
        <code>kind:pageable</code>.
      </p>
      <dl class="keys">
        {KEYS.filter(({ tab }) => !tab || tabs.includes(tab)).map((key) => (
          <div key={key.shown}>
            <dt>
              <kbd>{key.shown}</kbd>
            </dt>
            <dd>{key.does}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
