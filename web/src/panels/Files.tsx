// All files of the start, and what each cost; choosing one puts it on the map.

import { useMemo, useState } from "preact/hooks";

import type { AppProps } from "../App";
import { columnsOf, type SortedBy } from "../files/columns";
import { fileOf, firstUse, MEASURES, measuresOf, rowsOf } from "../files/rows";
import { Panel } from "../parts/Panel";
import { chooseFile, hoverTime, selectedFile } from "../state";
import { Table } from "../table/Table";

const SORTED_BY: readonly [SortedBy, string][] = [["size", "size of the change"], ["change", "the change, less first"], ["first", "A"], ["second", "B"]];

export function Files({ page, traces }: AppProps) {
  const isComparison = traces.length > 1;
  const [sortedBy, setSortedBy] = useState<SortedBy>("size");
  const rows = useMemo(() => rowsOf(page, traces), [page, traces]);
  const columns = useMemo(() => columnsOf(traces, rows, sortedBy), [traces, rows, sortedBy]);
  const choose = (row: number) => {
    const file = rows[row] && fileOf(rows[row]);
    if (!file) return;
    chooseFile(file);
    document.getElementById("map")?.scrollIntoView({ block: "start" });
  };
  // Where in time the file is first used.
  const point = (row: number | null) => {
    const file = row === null || rows[row] === undefined ? null : fileOf(rows[row]);
    const trace = file && traces[file.trace];
    hoverTime.value = file && trace ? firstUse(trace, file.place) : null;
  };
  const tools = isComparison && (
    <label>
      Sort by
      <select value={sortedBy} onChange={({ currentTarget }) => setSortedBy(currentTarget.value as SortedBy)}>
        {SORTED_BY.map(([value, words]) => (
          <option key={value} value={value}>{words}</option>
        ))}
      </select>
    </label>
  );
  const told = measuresOf(traces);
  const missing = MEASURES.filter((measure) => !told.includes(measure)).map(({ label }) => label.toLowerCase()).join(", ");
  const about = `A click, or Enter, puts a file on the map.${isComparison ? " Each cell is A → B, the change below." : ""} A dash: not recorded.${missing === "" ? "" : ` In neither: ${missing}.`}`;
  const shown = selectedFile.value;
  const selected = rows.findIndex(({ places }) => places[shown.trace] === shown.place);
  return (
    <Panel id="files" title="Files" about={about} tools={tools || undefined}>
      <Table
        label="files" rows={rows.length} columns={columns} order={{ column: "from_disk", descending: true }}
        rowHeight={38} height={440} totals selected={selected} onChoose={choose} onPoint={point}
      />
    </Panel>
  );
}
