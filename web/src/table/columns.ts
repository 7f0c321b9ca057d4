// What a table shows: a table asks for cells by row, so that a million rows need no objects.

import type { ComponentChildren } from "preact";

/** What rows are put in order by; null stands last, whichever way the order runs. */
export type SortKey = number | string | null;

/** One column. Keep the list of columns between renderings (`useMemo`): a new list is searched and sorted anew. */
export interface TableColumn {
  /** Stable, and the name in the CSV file. */
  id: string;
  /** The heading. */
  label: string;
  /** What it means, for the pointer that rests on the heading. */
  explanation?: string;
  /** Text to the left, numbers to the right. */
  align?: "left" | "right";
  /** As in CSS `grid-template-columns`: "7rem", "minmax(12rem, 2fr)". */
  width: string;
  /** The cell as text: what is shown unless there is `show`, and what the search looks at. Null: not recorded. */
  text: (row: number) => string | null;
  /** What the column is sorted by and what the CSV file says; without it, the text. */
  key?: (row: number) => SortKey;
  /** The cell as it is shown, if it is more than its text. */
  show?: (row: number) => ComponentChildren;
  /** The columns of the CSV file that stand for this one, where it shows several values; else one, of the key. */
  csv?: readonly { id: string; value: (row: number) => number | string | null }[];
  /** What stands in the row of totals, if there is one. */
  total?: ComponentChildren;
  /** Whether the search looks here; it does so in text columns unless told otherwise. */
  searched?: boolean;
  /** Whether it can be sorted by; yes unless told otherwise. */
  sortable?: boolean;
}

/** Which column the rows are in order of. */
export interface TableOrder {
  column: string;
  descending: boolean;
}

/** The key of a cell. */
export function keyOf(column: TableColumn, row: number): SortKey {
  return column.key ? column.key(row) : column.text(row);
}

/** Whether the search looks at a column. */
export function isSearched(column: TableColumn): boolean {
  return column.searched ?? column.align !== "right";
}
