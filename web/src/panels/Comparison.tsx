// What differs between two starts: what changed most, what is gone, and what is new.

import { useMemo } from "preact/hooks";

import type { AppProps } from "../App";
import { Caveats } from "../comparison/Caveats";
import { isSameLayers, whyNotComparable } from "../comparison/comparable";
import { ChangeList } from "../comparison/ChangeList";
import { changesOfFiles, changesOfObjects, changesOfPhases, onlyIn } from "../comparison/changes";
import type { Trace } from "../data/trace";
import { count } from "../format";
import { baseName, visible } from "../names";
import { fileOf, type FileRow, MEASURES, valuesOf } from "../files/rows";
import { valueText } from "../parts/change";
import { Panel } from "../parts/Panel";
import { chooseFile } from "../state";
import { Table, type TableColumn } from "../table/Table";

const MOST = 8;

export function Comparison({ page, traces }: AppProps) {
  const changes = useMemo(() => {
    const measure = (id: string) => MEASURES.find((candidate) => candidate.id === id);
    const [first, second] = traces;
    // The figures' names say what the lists are made of.
    const reasonOf = (figure: string) => (first && second ? whyNotComparable(figure, first.head.run, second.head.run) : null);
    const files = (["from_disk", "touches"] as const).flatMap((id) => {
      const found = measure(id);
      const [title, figure] = id === "touches" ? ["First touches, by file", "touches.all"] : ["Bytes from disk, by file", "bytes.filled"];
      return found ? [{ id, title, unit: found.unit, rows: changesOfFiles(page, traces, found, MOST), reason: reasonOf(figure) }] : [];
    });
    const times = { unit: "nanoseconds" as const, reason: reasonOf("time.phases") };
    return [
      ...files,
      { id: "phases", title: "Time, by kind of phase", ...times, rows: changesOfPhases(traces, MOST) },
      { id: "objects", title: "Time, by phase of an object", ...times, rows: changesOfObjects(traces, MOST) },
    ];
  }, [page, traces]);
  const gone = useMemo(() => onlyIn(page, traces, 0), [page, traces]);
  const appeared = useMemo(() => onlyIn(page, traces, 1), [page, traces]);
  const [first, second] = traces;
  const isSame = first !== undefined && second !== undefined && isSameLayers(first.head.run, second.head.run);
  return (
    <Panel id="comparison" title="Comparison" about="What changed most from A to B, either way. Times of phases are their own, without those inside them.">
      <Caveats caveats={page.comparison?.caveats ?? []} />
      <div class="change-lists">
        {changes.map((change) => (
          <ChangeList key={change.id} {...change} />
        ))}
      </div>
      <div class="only">
        <OnlyIn title={isSame ? "Only in A: gone" : "Only in A"} traces={traces} trace={0} rows={gone} />
        <OnlyIn title={isSame ? "Only in B: new" : "Only in B"} traces={traces} trace={1} rows={appeared} />
      </div>
      {!isSame && <p class="note">Not the same was recorded of both: a file that only one of them has may have been used in the other, too.</p>}
    </Panel>
  );
}

function OnlyIn({ title, traces, trace, rows }: { title: string; traces: Trace[]; trace: 0 | 1; rows: FileRow[] }) {
  const columns = useMemo(() => columnsOf(traces, trace, rows), [traces, trace, rows]);
  const letter = trace === 0 ? "A" : "B";
  const choose = (row: number) => {
    const file = rows[row] && fileOf(rows[row]);
    if (!file) return;
    chooseFile(file);
    document.getElementById("map")?.scrollIntoView({ block: "start" });
  };
  return (
    <div role="group" class="only-in" aria-labelledby={`only-${letter}`}>
      <h3 id={`only-${letter}`}>{title} ({count(rows.length)} {rows.length === 1 ? "file" : "files"})</h3>
      {rows.length === 0 ? <p class="empty">None.</p> : <Table label={`files only in ${letter}`} onChoose={choose} rows={rows.length} columns={columns} order={{ column: "from_disk", descending: true }} height={220} />}
    </div>
  );
}

function columnsOf(traces: Trace[], trace: 0 | 1, rows: readonly FileRow[]): TableColumn[] {
  const measures = MEASURES.filter(({ id }) => id === "from_disk" || id === "touched" || id === "touches");
  return [
    { id: "path", label: "File", width: "minmax(10rem, 1fr)", text: (row) => rows[row]?.path ?? null, show: (row) => <span title={visible(rows[row]?.path ?? "")}>{baseName(rows[row]?.path ?? "")}</span> },
    ...measures.map((measure): TableColumn => {
      const value = (row: number) => (rows[row] ? valuesOf(measure, traces, rows[row])[trace] : null);
      const text = (row: number) => {
        const found = value(row);
        return found === null ? null : valueText(found, measure.unit);
      };
      return { id: measure.id, label: measure.label, align: "right", width: measure.width, text, key: value };
    }),
  ];
}
