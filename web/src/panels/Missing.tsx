// Names that were asked for and not there: searches that found nothing.

import { useMemo } from "preact/hooks";

import type { AppProps } from "../App";
import type { Trace } from "../data/trace";
import { count } from "../format";
import { visible } from "../names";
import { letterOf } from "../parts/TraceBadge";
import { Panel } from "../parts/Panel";
import { Table, type TableColumn } from "../table/Table";

interface Row {
  directory: string;
  first: string;
  /** How often in each trace. */
  counts: number[];
}

export function Missing({ traces }: AppProps) {
  const rows = useMemo(() => rowsOf(traces), [traces]);
  const columns = useMemo(() => columnsOf(traces, rows), [traces, rows]);
  const about = rows.length === 0 ? undefined : "What the program and the loader asked for in vain, by directory.";
  return (
    <Panel id="missing" title="Missing names" about={about}>
      {rows.length === 0 ? (
        <p class="empty">{traces.some(({ head }) => head.run.layers.includes("files")) ? "Nothing was asked for in vain." : "Names were not recorded: the trace has no layer of files."}</p>
      ) : (
        <Table label="missing names" rows={rows.length} columns={columns} order={{ column: traces.length > 1 ? "count_A" : "count", descending: true }} height={300} />
      )}
    </Panel>
  );
}

function rowsOf(traces: readonly Trace[]): Row[] {
  const rows = new Map<string, Row>();
  traces.forEach(({ head }, trace) => {
    for (const { directory, count: times, first } of head.missing) {
      const row = rows.get(directory) ?? { directory, first, counts: traces.map(() => 0) };
      // Names that are no UTF-8 can look alike here.
      row.counts[trace] = (row.counts[trace] ?? 0) + times;
      rows.set(directory, row);
    }
  });
  return [...rows.values()];
}

function columnsOf(traces: readonly Trace[], rows: readonly Row[]): TableColumn[] {
  const several = traces.length > 1;
  const counts = traces.map((_, trace): TableColumn => ({
    id: several ? `count_${letterOf(trace)}` : "count", label: several ? `Names ${letterOf(trace)}` : "Names", align: "right", width: "6rem",
    text: (row) => count(rows[row]?.counts[trace] ?? 0), key: (row) => rows[row]?.counts[trace] ?? 0,
  }));
  const text = (id: "directory" | "first", label: string): TableColumn => ({
    id, label, width: "minmax(14rem, 1fr)", text: (row) => visible(rows[row]?.[id] ?? ""), show: (row) => <span title={visible(rows[row]?.[id] ?? "")}>{visible(rows[row]?.[id] ?? "")}</span>,
  });
  return [text("directory", "Directory"), ...counts, text("first", "The first of them")];
}
