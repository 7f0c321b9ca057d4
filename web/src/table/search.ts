// Finds rows by words. All words must be in a row, in any of its searched columns; large tables are searched in slices, so that typing stays smooth.

import { isSearched, type TableColumn } from "./columns";

/** Rows in one slice: some 10 ms. */
const SLICE = 20_000;

/** Calls `found` with the rows that hold all words of the query, at once if they are few; the returned function breaks off. */
export function search(rows: number, columns: readonly TableColumn[], query: string, found: (rows: Uint32Array) => void): () => void {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) {
    found(allRows(rows));
    return () => undefined;
  }
  const searched = columns.filter(isSearched);
  const matches = new Uint32Array(rows);
  let count = 0;
  let row = 0;
  let later: ReturnType<typeof setTimeout> | undefined;
  const slice = () => {
    for (const end = Math.min(row + SLICE, rows); row < end; row += 1) {
      const text = searched.map((column) => column.text(row) ?? "").join("\n").toLowerCase();
      if (words.every((word) => text.includes(word))) matches[count++] = row;
    }
    if (row < rows) later = setTimeout(slice);
    else found(matches.slice(0, count));
  };
  slice();
  return () => clearTimeout(later);
}

/** 0, 1, 2 ... */
export function allRows(rows: number): Uint32Array {
  const all = new Uint32Array(rows);
  for (let row = 0; row < rows; row += 1) all[row] = row;
  return all;
}
