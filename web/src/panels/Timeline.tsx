// The phases of every process as lanes, on the axis of time that the whole page shares, and the whole time below them.

import { useMemo, useRef, useState } from "preact/hooks";

import type { AppProps } from "../App";
import { count } from "../format";
import { Panel } from "../parts/Panel";
import { processCount } from "../processes";
import { LaneChart } from "../timeline/LaneChart";
import { lanesOf, type LaneOrder } from "../timeline/lanes";
import { heightOf, layOut } from "../timeline/layout";
import { Legend } from "../timeline/Legend";
import { Overview } from "../timeline/Overview";
import { PhaseTable } from "../timeline/PhaseTable";
import { useWidth } from "../parts/useWidth";

/** Of the lanes, in pixels: the map should be in sight too. */
const LOW = 122;
const HIGH = 480;

/** From more processes on, those that took most time stand first: shells and helpers would fill what is in sight. */
const MANY = 8;

export function Timeline({ traces }: AppProps) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const [order, setOrder] = useState<LaneOrder>(() => (traces.reduce((sum, { head }) => sum + head.processes.length, 0) > MANY ? "time" : "beginning"));
  const [isTable, setIsTable] = useState(false);
  const [isHigh, setIsHigh] = useState(false);
  const lanes = useMemo(() => lanesOf(traces, order), [traces, order]);
  const [isNested, setIsNested] = useState(() => heightOf(layOut(lanes, true)) <= LOW * 1.5);
  const all = useMemo(() => heightOf(layOut(lanes, isNested)), [lanes, isNested]);
  const phases = lanes.reduce((sum, lane) => sum + lane.phases.length, 0);
  const tools = (
    <>
      {lanes.length > 1 && (
        <label>
          Processes
          <select value={order} onChange={({ currentTarget }) => setOrder(currentTarget.value === "time" ? "time" : "beginning")}>
            <option value="beginning">in order of beginning</option>
            <option value="time">most time in phases first</option>
          </select>
        </label>
      )}
      {lanes.some(({ levels }) => levels.length > 1) && <button type="button" aria-pressed={isNested} onClick={() => setIsNested(!isNested)}>Nested</button>}
      {all > LOW && <button type="button" aria-pressed={isHigh} onClick={() => setIsHigh(!isHigh)}>Taller</button>}
      <button type="button" aria-pressed={isTable} onClick={() => setIsTable(!isTable)}>As table</button>
    </>
  );
  const processes = traces.reduce((sum, { head }) => sum + processCount(head), 0);
  const isRecorded = traces.some(({ head }) => head.run.layers.includes("phases"));
  const who = `${count(processes)} ${processes === 1 ? "process" : "processes"}`;
  const what = isRecorded ? `${count(phases)} ${phases === 1 ? "phase" : "phases"} of ${who}` : `${who}, whose phases were not recorded`;
  const twice = lanes.length > processes ? "; one that executes another program has a lane for each" : "";
  const about = `${what}${twice}. Drag, or Ctrl and wheel, to zoom, double click for all.`;
  return (
    <Panel id="timeline" title="Timeline" about={about} tools={tools}>
      <div ref={frame} class="timeline">
        {isTable ? <PhaseTable traces={traces} lanes={lanes} height={HIGH - 100} /> : <LaneChart traces={traces} lanes={lanes} nested={isNested} width={width} height={isHigh ? HIGH : LOW * (traces.length > 1 ? 1.2 : 1)} />}
        <Overview traces={traces} width={width} />
        <Legend lanes={lanes} />
      </div>
    </Panel>
  );
}
