// What differs most between two starts: by file, and by kind of phase.

import type { PageHead } from "../data/payload";
import type { Trace } from "../data/trace";
import { type FileRow, type Measure, rowsOf, valuesOf } from "../files/rows";
import { baseName } from "../names";
import { entry } from "../theme";
import { phaseLabel } from "../timeline/lanes";

export interface ChangeRow {
  name: string;
  /** In full. */
  title: string;
  before: number | null;
  after: number | null;
}

/** Files in both or in one, the greatest change of a measure first, either way. */
export function changesOfFiles(page: PageHead, traces: Trace[], measure: Measure, most: number): ChangeRow[] {
  return greatest(rowsOf(page, traces).map((row) => {
    const [before, after] = valuesOf(measure, traces, row);
    return { name: baseName(row.path), title: row.path, before, after };
  }), most);
}

/** Own time by kind of phase, over all processes. */
export function changesOfPhases(traces: readonly Trace[], most: number): ChangeRow[] {
  const times = new Map<string, [number, number]>();
  traces.forEach(({ head }, trace) => {
    for (const { kind, own } of head.phases) {
      const sums = times.get(kind) ?? [0, 0];
      times.set(kind, sums);
      if (trace === 0) sums[0] += own;
      else sums[1] += own;
    }
  });
  if (traces.some(({ head }) => head.phases.length === 0)) return [];
  return greatest([...times].map(([kind, [before, after]]) => ({ name: entry("phases", kind).label, title: "time of its own, in all processes", before, after })), most);
}

/** Time of phases of the same kind, object and name, first of each process's: what became faster or slower. */
export function changesOfObjects(traces: readonly Trace[], most: number): ChangeRow[] {
  const times = new Map<string, [number | null, number | null]>();
  traces.forEach(({ head }, trace) => {
    for (const phase of head.phases) {
      if (phase.file === null) continue;
      const path = head.files[phase.file]?.path ?? "";
      const key = phaseLabel({ ...phase, name: null }, baseName(path));
      const sums = times.get(key) ?? [null, null];
      times.set(key, sums);
      if (trace === 0) sums[0] = (sums[0] ?? 0) + phase.own;
      else sums[1] = (sums[1] ?? 0) + phase.own;
    }
  });
  if (traces.some(({ head }) => head.phases.length === 0)) return [];
  return greatest([...times].map(([name, [before, after]]) => ({ name, title: name, before: before ?? 0, after: after ?? 0 })), most);
}

/** Files that only one trace knows. */
export function onlyIn(page: PageHead, traces: Trace[], trace: 0 | 1): FileRow[] {
  return rowsOf(page, traces).filter(({ places }) => places[trace] !== null && places[1 - trace] === null);
}

function greatest(rows: ChangeRow[], most: number): ChangeRow[] {
  const change = ({ before, after }: ChangeRow) => (before === null || after === null ? 0 : Math.abs(after - before));
  return rows.filter((row) => change(row) > 0).sort((left, right) => change(right) - change(left)).slice(0, most);
}
