// The columns of the table of files: a value each for one trace, "A → B" and the change below for two.

import type { Trace } from "../data/trace";
import { count } from "../format";
import { baseName, visible } from "../names";
import { changeText, percentText, valueText } from "../parts/change";
import { NotRecorded } from "../parts/NotRecorded";
import type { TableColumn } from "../table/Table";
import { type FileRow, type Measure, measuresOf, sumOf, valuesOf } from "./rows";

/** What columns of two traces are sorted by. */
export type SortedBy = "size" | "change" | "first" | "second";

export function columnsOf(traces: Trace[], rows: readonly FileRow[], sortedBy: SortedBy): TableColumn[] {
  const isComparison = traces.length > 1;
  const name = nameColumn(rows, isComparison);
  // Of two traces each cell has two values: the category stands below the name, so that all columns fit into 1280 pixels.
  const category: TableColumn = { id: "category", label: "Category", width: "5.6rem", text: (row) => rows[row]?.category ?? null };
  return [...(isComparison ? [name] : [name, category]), ...measuresOf(traces).map((measure) => (isComparison ? pairColumn(measure, traces, rows, sortedBy) : valueColumn(measure, traces, rows)))];
}

function nameColumn(rows: readonly FileRow[], isComparison: boolean): TableColumn {
  return {
    id: "path", label: "File", width: `minmax(${isComparison ? 11 : 14}rem, 1.6fr)`,
    total: rows.length === 1 ? "The file" : `All ${count(rows.length)} files`,
    text: (row) => (isComparison ? `${rows[row]?.category} ${rows[row]?.path}` : (rows[row]?.path ?? null)),
    key: (row) => rows[row]?.path ?? null,
    ...(isComparison && { csv: [{ id: "path", value: (row: number) => rows[row]?.path ?? null }, { id: "category", value: (row: number) => rows[row]?.category ?? null }] }),
    show: (row) => {
      const file = rows[row];
      if (file === undefined) return null;
      const [inFirst, inSecond] = file.places;
      const only = !isComparison ? null : inFirst === null ? "only in B" : inSecond === null ? "only in A" : null;
      const path = visible(file.path);
      return (
        <span class="file-name" title={path}>
          <span>{baseName(file.path)}{only !== null && <em> ({only})</em>}</span>
          <small>{isComparison && `${file.category}, `}{path.slice(0, path.lastIndexOf("/") + 1)}</small>
        </span>
      );
    },
  };
}

function valueColumn(measure: Measure, traces: Trace[], rows: readonly FileRow[]): TableColumn {
  const value = (row: number) => (rows[row] ? valuesOf(measure, traces, rows[row])[0] : null);
  const most = measure.bar ? rows.reduce((high, _, row) => Math.max(high, value(row) ?? 0), 0) : 0;
  const sum = measure.sums && traces[0] ? sumOf(measure, traces[0]) : null;
  const text = (row: number) => {
    const found = value(row);
    return found === null ? null : valueText(found, measure.unit);
  };
  return {
    ...headOf(measure),
    text,
    show: (row) => text(row) ?? <None measure={measure} />,
    key: value,
    total: !measure.sums ? "" : sum === null ? <NotRecorded /> : valueText(sum, measure.unit),
    ...(measure.bar && {
      show: (row: number) => {
        const found = value(row);
        return found === null ? <NotRecorded /> : <Bar share={most === 0 ? 0 : found / most} text={valueText(found, measure.unit)} />;
      },
    }),
  };
}

function pairColumn(measure: Measure, traces: Trace[], rows: readonly FileRow[], sortedBy: SortedBy): TableColumn {
  const values = (row: number): [number | null, number | null] => (rows[row] ? valuesOf(measure, traces, rows[row]) : [null, null]);
  const key = (row: number) => {
    const [before, after] = values(row);
    if (sortedBy === "first") return before;
    if (sortedBy === "second") return after;
    if (before === null || after === null) return null;
    return sortedBy === "size" ? Math.abs(after - before) : before - after;
  };
  const sums = traces.map((trace) => (measure.sums ? sumOf(measure, trace) : null));
  return {
    ...headOf(measure), width: { requests: "minmax(7rem, 1fr)", major: "minmax(6.8rem, 1fr)", functions: "minmax(7.4rem, 1fr)" }[measure.id] ?? "minmax(8.1rem, 1.15fr)",
    text: (row) => values(row).map((value) => (value === null ? "" : valueText(value, measure.unit))).join(" "),
    key,
    show: (row) => <Pair values={values(row)} measure={measure} />,
    csv: [{ id: `${measure.id}_a`, value: (row) => values(row)[0] }, { id: `${measure.id}_b`, value: (row) => values(row)[1] }],
    total: measure.sums ? <Pair values={[sums[0] ?? null, sums[1] ?? null]} measure={measure} /> : "",
  };
}

/** A dash; a file that was never used has no first use, though uses were recorded. */
function None({ measure }: { measure: Measure }) {
  return measure.sums ? <NotRecorded /> : <NotRecorded reason="not used" />;
}

function headOf({ id, label, explanation, width }: Measure): Pick<TableColumn, "id" | "label" | "explanation" | "align" | "width"> {
  return { id, label, explanation, align: "right", width };
}

function Bar({ share, text }: { share: number; text: string }) {
  return (
    <span class="with-bar">
      <span class="bar-of" style={{ width: `${share * 100}%` }} aria-hidden="true" />
      {text}
    </span>
  );
}

function Pair({ values: [before, after], measure }: { values: [number | null, number | null]; measure: Measure }) {
  const part = (value: number | null, other: number | null) => {
    if (value === null) return <None measure={measure} />;
    const text = valueText(value, measure.unit);
    const unit = / \S+$/.exec(text)?.[0] ?? "";
    // A unit that both have stands once.
    return other !== null && unit !== "" && measure.unit !== "count" && valueText(other, measure.unit).endsWith(unit) ? text.slice(0, -unit.length) : text;
  };
  const change = changeText(before, after, measure.unit);
  const percent = percentText(before, after);
  return (
    <span class="pair">
      <span>{part(before, after)} → {part(after, null)}</span>
      <small>{change === null ? "" : percent === null || change === "no change" ? change : `${change} (${percent})`}</small>
    </span>
  );
}
