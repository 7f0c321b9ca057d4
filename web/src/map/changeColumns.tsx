// The columns of the table of pages while the map shows what differs: what became of each page, in words.

import { PAGE_SIZE } from "../data/trace";
import { count, hex, momentText, time } from "../format";
import { visible } from "../names";
import type { TableColumn } from "../table/columns";
import { symbolsOf } from "./describe";
import { CHANGES, type Difference, wordsAt } from "./difference";
import type { MapModel } from "./model";

/** The rows of the table: pages of the difference, by their places in it. */
export interface ChangeRows {
  difference: Difference;
  /** Which of them are in view. */
  places: Uint32Array;
}

export function changeColumns({ difference, places }: ChangeRows, model: MapModel): TableColumn[] {
  const { dots, to, trace } = difference;
  const find = (row: number) => {
    const nth = places[row] ?? 0;
    const side = model.sides.find(({ number }) => number === trace[nth]) ?? model.sides[0];
    if (side === undefined) throw new Error("a row of an empty table");
    const change = CHANGES[dots.kind[nth] ?? 0] ?? "same";
    const [at, event] = [dots.at[nth] ?? 0, dots.row[nth] ?? 0];
    const place = dots.place[nth] ?? 0;
    return { side, event, place, ...model.places.pageAt(place), change, before: change === "new" ? null : at, after: change === "gone" ? null : change === "new" ? at : (to[nth] ?? at) };
  };
  const offset = (row: number) => find(row).page * PAGE_SIZE;
  const by = (row: number) => {
    const { before, after } = find(row);
    return before === null || after === null ? null : after - before;
  };
  const moment = (id: string, label: string, ask: (row: number) => number | null): TableColumn => ({
    id, label, align: "right", width: "7rem", key: ask, show: (row) => momentOrNone(ask(row)), text: (row) => momentOrNone(ask(row)),
  });
  return [
    {
      id: "change", label: "Change", width: "minmax(13rem, 1.4fr)", key: (row) => CHANGES.indexOf(find(row).change),
      csv: [{ id: "change", value: (row) => find(row).change }],
      text: (row) => wordsAt(difference, places[row] ?? 0),
    },
    { id: "page", label: "Page", explanation: "Its number in A's file; of zero-filled memory, of its address", align: "right", width: "6rem", key: (row) => offset(row) / PAGE_SIZE, text: (row) => count(offset(row) / PAGE_SIZE) },
    { id: "offset", label: "Offset", explanation: "In A's file; of zero-filled memory, the address", align: "right", width: "7rem", key: offset, text: (row) => hex(offset(row)) },
    { id: "section", label: "Section", width: "minmax(7rem, 1fr)", text: (row) => model.places.bandsOfPage(find(row).place).map(({ section }) => visible(section.name)).join(", ") },
    moment("first", "In A", (row) => find(row).before),
    moment("second", "In B", (row) => find(row).after),
    { id: "by", label: "Moved by", explanation: "From A to B: + later, − earlier", align: "right", width: "7rem", key: by, show: (row) => byText(by(row)), text: (row) => byText(by(row)) },
    { id: "symbols", label: "Symbols on the page", explanation: "The first few", width: "minmax(9rem, 2fr)", text: (row) => { const { side, event } = find(row); return symbolsOf(side.trace, event, side.places, 2).join(", "); } },
  ];
}

function momentOrNone(at: number | null): string {
  return at === null ? "not touched" : momentText(at);
}

function byText(by: number | null): string {
  return by === null ? "" : by === 0 ? "0" : `${by > 0 ? "+" : "\u2212"}${time(Math.abs(by))}`;
}
