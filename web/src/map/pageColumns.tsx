// The columns of the table of pages.

import { KIND, PAGE_SIZE } from "../data/trace";
import { count, hex, momentText } from "../format";
import { letterOf, TraceBadge } from "../parts/TraceBadge";
import type { TableColumn } from "../table/columns";
import { causeOf, kindWords, sectionsOf, symbolsOf } from "./describe";
import { type Dots, isMemory } from "./dots";
import type { MapSide } from "./model";

/** The rows of the table: those of A, then those of B. */
export interface PageRows {
  parts: { side: MapSide; dots: Dots }[];
  count: number;
}

export function pageColumns(rows: PageRows, isComparison: boolean): TableColumn[] {
  const orders = rows.parts.map(({ side }) => touchOrders(side));
  /** Which part a row is in, and the event's row there. */
  const find = (row: number): { side: MapSide; event: number; part: number } => {
    let part = 0;
    while (part < rows.parts.length - 1 && row >= (rows.parts[part]?.dots.count ?? 0)) row -= rows.parts[part++]?.dots.count ?? 0;
    const found = rows.parts[part];
    if (found === undefined) throw new Error("a row of an empty table");
    return { side: found.side, event: found.dots.row[row] ?? 0, part };
  };
  const order = (row: number) => {
    const { side, event, part } = find(row);
    const found = orders[part]?.[event - side.file.events[0]] ?? 0;
    return found === 0 ? null : found;
  };
  const at = (row: number) => {
    const { side, event } = find(row);
    return side.trace.at[event] ?? 0;
  };
  const offset = (row: number) => {
    const { side, event } = find(row);
    return (side.trace.page[event] ?? 0) * PAGE_SIZE;
  };
  const columns: TableColumn[] = [
    { id: "order", label: "Order", explanation: "Which first touch of this file it is", align: "right", width: "5rem", text: (row) => (order(row) === null ? null : count(order(row) ?? 0)), key: order },
    { id: "time", label: "Time", align: "right", width: "7rem", text: (row) => momentText(at(row)), key: at },
    {
      id: "page", label: "Page", explanation: "Its number in the file; of zero-filled memory, of its address", align: "right", width: "6rem", key: (row) => offset(row) / PAGE_SIZE,
      csv: [{ id: "page", value: (row) => offset(row) / PAGE_SIZE }, { id: "pages", value: (row) => { const { side, event } = find(row); return side.trace.pages[event] ?? 1; } }],
      text: (row) => { const { side, event } = find(row); const pages = side.trace.pages[event] ?? 1; return `${count(offset(row) / PAGE_SIZE)}${pages > 1 ? ` +${count(pages - 1)}` : ""}`; },
    },
    { id: "offset", label: "Offset", explanation: "In the file; of zero-filled memory, the address", align: "right", width: "6.5rem", text: (row) => hex(offset(row)), key: offset },
    { id: "section", label: "Section", width: "minmax(6rem, 1fr)", text: (row) => { const { side, event } = find(row); return sectionsOf(side.trace, event, side.places); } },
    { id: "what", label: "What", width: "minmax(9rem, 1.4fr)", text: (row) => { const { side, event } = find(row); const kind = side.trace.kind[event] ?? 0; return `${kindWords(kind)}${isMemory(kind) ? " memory" : ""}`; } },
    { id: "symbols", label: "Symbols on the page", explanation: "The first few; of a call, the function itself", width: "minmax(9rem, 2fr)", text: (row) => { const { side, event } = find(row); return symbolsOf(side.trace, event, side.places, 2).join(", "); } },
    { id: "by", label: "By what", explanation: "The code that touched it", width: "minmax(8rem, 1.6fr)", text: (row) => { const { side, event } = find(row); return side.trace.kind[event] === KIND.function ? "" : causeOf(side.trace, event); } },
    { id: "process", label: "Process", width: "minmax(6rem, 1fr)", text: (row) => { const { side, event } = find(row); return side.trace.actor(event); } },
  ];
  if (isComparison) columns.unshift({ id: "trace", label: "Trace", width: "4rem", text: (row) => letterOf(find(row).side.number), show: (row) => <TraceBadge trace={find(row).side.number} /> });
  return columns;
}

const remembered = new WeakMap<MapSide, Uint32Array>();

/** For each event of the file: which first touch it is, from 1; 0 for what is no touch. */
function touchOrders(side: MapSide): Uint32Array {
  const known = remembered.get(side);
  if (known !== undefined) return known;
  const { trace, file } = side;
  const [first, all] = file.events;
  const orders = new Uint32Array(all);
  let order = 0;
  for (let nth = 0; nth < all; nth += 1) if ((trace.kind[first + nth] ?? 0) < KIND.function) orders[nth] = order += 1;
  remembered.set(side, orders);
  return orders;
}
