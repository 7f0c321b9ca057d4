// The table of all panels: any number of rows, sorted by a heading's button, searched, walked through with the arrow keys, copied as CSV.
// It is an ARIA grid of our own elements, since rows that are not in sight do not stand in the page.

import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";

import { count } from "../format";
import { NotRecorded } from "../parts/NotRecorded";
import type { TableColumn, TableOrder } from "./columns";
import { TableTools } from "./TableTools";
import { allRows, search } from "./search";
import { sortRows } from "./sort";
import { useVirtualRows } from "./virtual";

export type { TableColumn, TableOrder } from "./columns";

export interface TableProps {
  /** What it is a table of, for the search and for screen readers: "files". */
  label: string;
  /** How many rows there are; cells are asked for by 0 up to this. */
  rows: number;
  /** Keep this list between renderings (`useMemo`). */
  columns: readonly TableColumn[];
  /** The order at first; without it, that of the rows. */
  order?: TableOrder;
  /** A row was clicked, or Enter was pressed on it. */
  onChoose?: (row: number) => void;
  /** The pointer or the arrow keys came to a row, or left (null). */
  onPoint?: (row: number | null) => void;
  /** Marked as chosen. */
  selected?: number | null;
  /** Pixels. */
  rowHeight?: number;
  /** Of the scroll area at most, in pixels. */
  height?: number;
  /** Whether a row of totals stands at the foot. */
  totals?: boolean;
  /** What is said if there are no rows. */
  empty?: string;
}

const HEAD_HEIGHT = 34;

export function Table(props: TableProps) {
  const { label, rows, columns, onChoose, onPoint, selected = null, rowHeight = 26, height = 360, totals = false } = props;
  const id = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const [query, setQuery] = useState("");
  const [order, setOrder] = useState<TableOrder | null>(props.order ?? null);
  const [found, setFound] = useState<Uint32Array>(() => allRows(rows));
  const [active, setActive] = useState(0);

  useEffect(() => {
    const timer = { stop: () => undefined as void };
    const wait = setTimeout(() => (timer.stop = search(rows, columns, query, setFound)), query === "" ? 0 : 120);
    return () => {
      clearTimeout(wait);
      timer.stop();
    };
  }, [rows, columns, query]);

  const sorted = useMemo(() => {
    const column = order && columns.find((candidate) => candidate.id === order.column);
    // The rows of a moment ago may be more than there are now.
    const present = found.length > 0 && (found[found.length - 1] ?? 0) >= rows ? found.filter((row) => row < rows) : found;
    return column && order ? sortRows(present, column, order.descending) : present;
  }, [found, rows, columns, order]);

  // What was searched for or sorted to the front stands at the top.
  useEffect(() => void (scroller.current && (scroller.current.scrollTop = 0)), [query, order]);
  const virtual = useVirtualRows(scroller, sorted.length, rowHeight);
  const place = Math.min(active, Math.max(sorted.length - 1, 0));
  const move = (to: number) => {
    const next = Math.min(Math.max(to, 0), sorted.length - 1);
    if (next < 0) return;
    setActive(next);
    virtual.reveal(next, HEAD_HEIGHT, totals ? rowHeight : 0);
    onPoint?.(sorted[next] ?? null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget) return;
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? height) / rowHeight) - 2);
    const steps: Record<string, number> = { ArrowDown: place + 1, ArrowUp: place - 1, PageDown: place + page, PageUp: place - page, Home: 0, End: sorted.length - 1 };
    const to = steps[event.key];
    const row = sorted[place];
    if (to !== undefined) move(to);
    else if ((event.key === "Enter" || event.key === " ") && row !== undefined) onChoose?.(row);
    else return;
    event.preventDefault();
  };

  const grid = { gridTemplateColumns: columns.map((column) => column.width).join(" ") };
  // Wider than this the area scrolls sideways: head, rows and foot must be of one width whatever stands in them.
  const sheet = { minWidth: `calc(${columns.map((column) => /^minmax\(([^,]+),/.exec(column.width)?.[1] ?? column.width).join(" + ")})` };
  const heading = (column: TableColumn) => {
    const direction = order?.column === column.id ? (order.descending ? "descending" : "ascending") : undefined;
    // Numbers first from the greatest, words from the first.
    const next = { column: column.id, descending: direction === undefined ? column.align === "right" : direction === "ascending" };
    return (
      <div key={column.id} role="columnheader" class={`cell ${column.align ?? "left"}`} title={column.explanation} aria-sort={direction ?? (column.sortable === false ? undefined : "none")}>
        {column.sortable === false ? (
          column.label
        ) : (
          <button type="button" onClick={() => (setOrder(next), setActive(0))}>
            {column.label}
            <span class="arrow" aria-hidden="true">{direction === "descending" ? "▼" : direction === "ascending" ? "▲" : ""}</span>
          </button>
        )}
      </div>
    );
  };

  return (
    <div class="table">
      <TableTools label={label} all={rows} rows={sorted} columns={columns} query={query} onSearch={(text) => (setQuery(text), setActive(0))} />
      <div
        ref={scroller} class={onChoose ? "grid choosable" : "grid"} role="grid" tabIndex={0} aria-label={label}
        aria-rowcount={sorted.length + 1 + (totals ? 1 : 0)} aria-colcount={columns.length}
        aria-activedescendant={sorted.length > 0 ? `${id}-${place}` : undefined}
        onKeyDown={onKeyDown} onPointerLeave={() => onPoint?.(null)} onBlur={() => onPoint?.(null)} style={{ maxHeight: `${height}px` }}
      >
        <div class="head" role="rowgroup" style={sheet}>
          <div role="row" aria-rowindex={1} class="row" style={{ ...grid, height: `${HEAD_HEIGHT}px` }}>{columns.map(heading)}</div>
        </div>
        {sorted.length > 0 && (
          <div class="rows" role="rowgroup" style={{ ...sheet, height: `${virtual.height}px` }}>
            {virtual.items.map((item) => {
              const row = sorted[item.index];
              if (row === undefined) return null;
              return (
                <div
                  key={item.index} id={`${id}-${item.index}`} role="row" aria-rowindex={item.index + 2} aria-selected={selected === row}
                  class={item.index === place ? "row active" : "row"} style={{ ...grid, height: `${rowHeight}px`, transform: `translateY(${virtual.top(item)}px)` }}
                  onClick={() => (setActive(item.index), onChoose?.(row))} onPointerEnter={() => onPoint?.(row)}
                >
                  {columns.map((column) => (
                    <div key={column.id} role="gridcell" class={`cell ${column.align ?? "left"}`}>{shown(column, row)}</div>
                  ))}
                </div>
              );
            })}
          </div>
        )}
        {totals && (
          <div class="foot" role="rowgroup" style={sheet}>
            <div role="row" aria-rowindex={sorted.length + 2} class="row" style={{ ...grid, height: `${rowHeight}px` }}>
              {columns.map((column) => (
                <div key={column.id} role="gridcell" class={`cell ${column.align ?? "left"}`}>{column.total ?? ""}</div>
              ))}
            </div>
          </div>
        )}
      </div>
      {sorted.length === 0 && <p class="empty">{query === "" ? (props.empty ?? `No ${label}.`) : `None of ${count(rows)} matches.`}</p>}
    </div>
  );
}

/** A cell; what was not recorded is told apart from zero. */
function shown(column: TableColumn, row: number) {
  if (column.show) return column.show(row);
  return column.text(row) ?? <NotRecorded />;
}
