// A table that sorts by any column.
import { useState } from "preact/hooks";

export interface Cell {
  text: string;
  /** What to sort by, where it is not the text. */
  order?: number | null;
  onClick?: () => void;
}

export interface TableRow {
  key: string | number;
  isChosen?: boolean;
  cells: Cell[];
}

export function Table({ columns, rows }: { columns: string[]; rows: TableRow[] }) {
  const [sort, setSort] = useState<{ column: number; isDown: boolean } | null>(null);
  const sorted = sort
    ? [...rows].sort((a, b) => compare(a, b, sort.column) * (sort.isDown ? -1 : 1))
    : rows;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard
    <section class="scroll" tabIndex={0} aria-label="table">
      <table>
        <thead>
          <tr>
            {columns.map((column, i) => (
              <th
                key={column}
                scope="col"
                aria-sort={sort?.column === i ? (sort.isDown ? "descending" : "ascending") : "none"}
              >
                <button
                  type="button"
                  onClick={() =>
                    setSort({ column: i, isDown: sort?.column === i ? !sort.isDown : true })
                  }
                >
                  {column}
                  {sort?.column === i ? (sort.isDown ? " ↓" : " ↑") : ""}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.map((row) => (
            <tr key={row.key} class={row.isChosen ? "chosen" : ""}>
              {row.cells.map((cell, i) => (
                <td key={columns[i]} class={cell.order === undefined ? "" : "number"}>
                  {cell.onClick ? (
                    <button type="button" class="link" onClick={cell.onClick}>
                      {cell.text}
                    </button>
                  ) : (
                    cell.text
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function compare(a: TableRow, b: TableRow, column: number): number {
  const [left, right] = [a.cells[column]!, b.cells[column]!];
  if (left.order !== undefined) return (left.order ?? -1) - (right.order ?? -1);
  return left.text < right.text ? -1 : Number(left.text > right.text);
}
