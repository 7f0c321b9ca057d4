// What runs before main: initialisers in their order, what each took, and how far it lay from the one before.

import { useMemo, useState } from "preact/hooks";

import type { AppProps } from "../App";
import { groupColumns, initialiserColumns } from "../initialisers/columns";
import { OrderChart } from "../initialisers/OrderChart";
import { groupName, groupsOf, type InitialiserRow } from "../initialisers/rows";
import { Panel } from "../parts/Panel";
import { hoverTime } from "../state";
import { Table } from "../table/Table";
import { zoomTo } from "../timeline/keys";

/** Those with most time; the table has all. Browsers measure every option. */
const MOST_OPTIONS = 300;

export function Initialisers({ traces }: AppProps) {
  const several = traces.length > 1;
  const groups = useMemo(() => groupsOf(traces), [traces]);
  const [chosen, setChosen] = useState(0);
  const [isAll, setIsAll] = useState(false);
  const [pointed, setPointed] = useState<InitialiserRow | null>(null);
  const group = groups[chosen];
  const rows = useMemo(() => (isAll ? groups.flatMap((one) => one.rows) : (group?.rows ?? [])), [groups, group, isAll]);
  const columns = useMemo(() => initialiserColumns(rows, several), [rows, several]);
  const objects = useMemo(() => groupColumns(groups, several), [groups, several]);
  const point = (row: number | null) => {
    const found = row === null ? null : (rows[row] ?? null);
    setPointed(found);
    hoverTime.value = found?.phase.begin ?? null;
  };
  if (group === undefined) {
    const recorded = traces.some(({ head }) => head.run.layers.includes("phases"));
    return (
      <Panel id="initialisers" title="Initialisers">
        <p class="empty">{recorded ? "None was seen." : "Phases were not recorded."}</p>
      </Panel>
    );
  }
  const tools = (
    <>
      <label>
        Object
        <select value={chosen} onChange={({ currentTarget }) => setChosen(Number(currentTarget.value))}>
          {groups.map((one, place) => (place < MOST_OPTIONS || place === chosen) && (
            <option key={place} value={place}>{groupName(one, several)}</option>
          ))}
        </select>
      </label>
      <button type="button" aria-pressed={isAll} onClick={() => setIsAll(!isAll)}>List all objects</button>
    </>
  );
  return (
    <Panel id="initialisers" title="Initialisers" about="Choose an object to see in which order its initialisers ran; choose an initialiser to see its time." tools={tools}>
      <div class="side-by-side">
        <Table label="objects with initialisers" rows={groups.length} columns={objects} height={214} selected={chosen} onChoose={setChosen} />
        <OrderChart group={group} pointed={pointed} />
      </div>
      <Table
        label="initialisers" rows={rows.length} columns={columns} height={300}
        onChoose={(row) => rows[row] && zoomTo(rows[row].phase)} onPoint={point}
      />
    </Panel>
  );
}
