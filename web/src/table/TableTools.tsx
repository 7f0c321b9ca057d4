// What stands above a table: the search, how many rows match, and the button that copies them.

import { useEffect, useId, useState } from "preact/hooks";

import { count } from "../format";
import type { TableColumn } from "./columns";
import { copy, csv } from "./csv";

export interface TableToolsProps {
  label: string;
  all: number;
  /** Those that match, in their order. */
  rows: Uint32Array;
  columns: readonly TableColumn[];
  query: string;
  onSearch: (query: string) => void;
}

export function TableTools({ label, all, rows, columns, query, onSearch }: TableToolsProps) {
  const id = useId();
  const [copied, setCopied] = useState("");
  useEffect(() => setCopied(""), [rows]);
  const copyRows = async () => {
    const done = await copy(csv(rows, columns));
    setCopied(done ? `Copied ${rowsText(rows.length)}.` : "This browser does not let the page copy; coldstart view -o OUT.csv writes all tables.");
  };
  return (
    <div class="tools">
      <label for={id}>Search {label}</label>
      <input id={id} type="search" value={query} autocomplete="off" spellcheck={false} onInput={(event) => onSearch(event.currentTarget.value)} />
      <span class="matches" role="status">{query === "" ? rowsText(all) : `${count(rows.length)} of ${count(all)} match`}</span>
      <button type="button" class="quiet" onClick={() => void copyRows()}>Copy as CSV</button>
      <span role="status">{copied}</span>
    </div>
  );
}

function rowsText(rows: number): string {
  return `${count(rows)} ${rows === 1 ? "row" : "rows"}`;
}
