// A table as CSV (RFC 4180): numbers as they are, not as they are shown, so that a spreadsheet can go on with them.

import { keyOf, type TableColumn } from "./columns";

/** The rows in their order, a heading first. */
export function csv(rows: Uint32Array, columns: readonly TableColumn[]): string {
  const parts = columns.flatMap((column) => column.csv ?? [{ id: column.id, value: (row: number) => cell(column, row) }]);
  const lines = [parts.map(({ id }) => quote(id)).join(",")];
  for (const row of rows) lines.push(parts.map(({ value }) => quote(String(value(row) ?? ""))).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function cell(column: TableColumn, row: number): string {
  const key = keyOf(column, row);
  if (typeof key === "number") return String(key);
  return column.text(row) ?? "";
}

function quote(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Puts text on the clipboard; false where the browser does not let us. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** The way of browsers that keep the clipboard from pages opened as files. */
function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  document.body.append(area);
  area.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    area.remove();
  }
}
