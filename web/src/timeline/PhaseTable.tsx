// The phases as a table: the same as the lanes, for those who rather read and sort.

import { useMemo } from "preact/hooks";

import type { Trace } from "../data/trace";
import { time } from "../format";
import { baseName, visible } from "../names";
import { letterOf } from "../parts/TraceBadge";
import { hoverTime } from "../state";
import { Table, type TableColumn } from "../table/Table";
import { entry } from "../theme";
import { zoomTo } from "./keys";
import type { Lane, LanePhase } from "./lanes";

interface Row {
  lane: Lane;
  known: LanePhase;
}

export function PhaseTable({ traces, lanes, height }: { traces: Trace[]; lanes: readonly Lane[]; height: number }) {
  const rows = useMemo(() => lanes.flatMap((lane) => lane.phases.map((known): Row => ({ lane, known }))), [lanes]);
  const columns = useMemo(() => columnsOf(traces, rows), [traces, rows]);
  return (
    <Table
      label="phases" rows={rows.length} columns={columns} order={{ column: "begin", descending: false }} height={height}
      onPoint={(row) => (hoverTime.value = row === null ? null : (rows[row]?.known.phase.begin ?? null))}
      onChoose={(row) => rows[row] && zoomTo(rows[row].known.phase)} empty="No phases were recorded."
    />
  );
}

function columnsOf(traces: Trace[], rows: readonly Row[]): TableColumn[] {
  const of = <T,>(row: number, ask: (found: Row) => T, otherwise: T): T => (rows[row] ? ask(rows[row]) : otherwise);
  const moment = (id: string, label: string, ask: (found: Row) => number): TableColumn => ({
    id, label, align: "right", width: "7rem", text: (row) => of(row, (found) => time(ask(found)), null), key: (row) => of(row, ask, null),
  });
  const process = (found: Row) => {
    const head = traces[found.lane.trace]?.head.processes[found.lane.process];
    return head ? `${baseName(head.program)} (${head.number})` : "";
  };
  const path = (found: Row) => (found.known.phase.file === null ? "" : visible(traces[found.lane.trace]?.head.files[found.known.phase.file]?.path ?? ""));
  return [
    ...(traces.length > 1 ? [{ id: "trace", label: "Trace", width: "4rem", text: (row: number) => of(row, (found) => letterOf(found.lane.trace), null) }] : []),
    { id: "process", label: "Process", width: "minmax(8rem, 1fr)", text: (row) => of(row, process, null) },
    {
      id: "phase", label: "Phase", width: "minmax(9rem, 1fr)",
      text: (row) => of(row, ({ known, lane }) => `${"\u2003".repeat(lane.levels.length > 1 ? known.depth : 0)}${entry("phases", known.phase.kind).label}`, null),
      key: (row) => of(row, ({ known }) => known.phase.kind, null),
      csv: [{ id: "phase", value: (row) => of(row, ({ known }) => known.phase.kind, null) }, { id: "depth", value: (row) => of(row, ({ known }) => known.depth, null) }],
    },
    { id: "name", label: "Name", width: "minmax(7rem, 1fr)", text: (row) => of(row, ({ known }) => (known.phase.name === null ? "" : visible(known.phase.name)), null) },
    { id: "file", label: "File", width: "minmax(10rem, 2fr)", text: (row) => of(row, path, null) },
    moment("begin", "Begin", ({ known }) => known.phase.begin),
    {
      ...moment("duration", "Duration", ({ known }) => known.phase.end - known.phase.begin), width: "9rem",
      csv: [{ id: "duration", value: (row) => of(row, ({ known }) => known.phase.end - known.phase.begin, null) }, { id: "known", value: (row) => of(row, ({ known }) => known.phase.known, null) }],
      text: (row) => of(row, ({ known }) => `${known.phase.known === "end-at-most" ? "at most " : ""}${time(known.phase.end - known.phase.begin)}`, null),
    },
    moment("own", "Own time", ({ known }) => known.phase.own),
  ];
}
