// The lanes on a canvas: only those in sight are drawn, so that there may be thousands. The canvas lies below the scroll area, as wide as the panel,
// so that a scroll bar takes its room from the right margin and moments stay in one line with the other panels.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { LEFT_MARGIN } from "../charts/margins";
import type { Trace } from "../data/trace";
import { commandLine, shortened, visible } from "../names";
import { shownProcesses } from "../processes";
import { selectedProcess, timeRange } from "../state";
import { isDark } from "../theme";
import { prepare } from "./canvas";
import { axisHeight, drawAxis } from "./drawAxis";
import { drawLanes } from "./drawLanes";
import { listenForGestures } from "./gestures";
import { HoverLine } from "./HoverLine";
import { followPhase, stepByKey } from "./keys";
import { type Lane, type LanePhase, phaseSentence } from "./lanes";
import { heightOf, laneAt, type LaneLayout, layOut, phaseAt } from "./layout";
import { marksOf } from "./marks";
import { scaleOf } from "./scale";

export interface LaneChartProps {
  traces: Trace[];
  lanes: readonly Lane[];
  nested: boolean;
  width: number;
  /** Of what is seen of the lanes at most, in pixels. */
  height: number;
}

/** Where the pointer is. What it is at is looked up anew with each picture: below a pointer at rest time can be zoomed. */
interface Pointed {
  x: number;
  y: number;
}

export function LaneChart({ traces, lanes, nested, width, height }: LaneChartProps) {
  const axis = useRef<HTMLCanvasElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const [scrolled, setScrolled] = useState(0);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [chosen, setChosen] = useState<{ lane: number; phase: LanePhase } | null>(null);
  const layout = useMemo(() => layOut(lanes, nested), [lanes, nested]);
  const marks = useMemo(() => marksOf(traces), [traces]);
  const range = timeRange.value;
  const process = selectedProcess.value;
  const dark = isDark.value;
  const all = heightOf(layout);
  const seen = Math.min(all, height);
  const top = axisHeight(marks);
  const say = (found: LanePhase, lane: number) => {
    const trace = traces[layout.lanes[lane]?.trace ?? 0];
    return trace ? `${traces.length > 1 ? `${layout.lanes[lane]?.trace === 0 ? "A" : "B"}: ` : ""}${phaseSentence(trace, found)}` : "";
  };

  useEffect(() => setChosen(null), [lanes]);
  useLayoutEffect(() => {
    if (width === 0) return;
    const scale = scaleOf(range, width);
    const above = axis.current && prepare(axis.current, width, top);
    if (above) drawAxis(above, scale, marks, top);
    const below = canvas.current && prepare(canvas.current, width, seen);
    const processes = traces.map((_, trace) => shownProcesses(traces, trace, process));
    const only = process === null ? null : (lane: number) => processes[layout.lanes[lane]?.trace ?? 0]?.[layout.lanes[lane]?.process ?? 0] === true;
    if (below) drawLanes(below, { layout, scale, scrolled, height: seen, marks, letters: traces.length > 1, only, chosen: chosen?.phase ?? null });
  }, [layout, marks, range, width, seen, scrolled, process, chosen, dark, top]);

  // Listeners stay; they ask for what holds now.
  const now = useRef({ layout, width });
  now.current = { layout, width };
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    return listenForGestures(element, {
      scale: () => scaleOf(timeRange.value, now.current.width),
      onDrag: (stretch) => (setDrag(stretch), stretch && setPointed(null)),
      onClick: (x, y) => {
        const lane = x < LEFT_MARGIN ? now.current.layout.lanes[laneAt(now.current.layout, y + element.scrollTop)] : undefined;
        const chosen = selectedProcess.value;
        if (lane) selectedProcess.value = chosen?.trace === lane.trace && chosen.place === lane.process ? null : { trace: lane.trace, place: lane.process };
        else setChosen(phaseAt(now.current.layout, scaleOf(timeRange.value, now.current.width), x, y + element.scrollTop));
      },
      onMove: (x, y) => setPointed({ x, y }),
      onLeave: () => setPointed(null),
    });
  }, [traces]);

  const onKeyDown = (event: KeyboardEvent) => {
    const next = stepByKey(event.key, layout, chosen);
    if (next === undefined) return;
    event.preventDefault();
    if (next === null) return setChosen(null);
    setChosen(next);
    if (event.key !== "Enter") followPhase(next.phase.phase);
    const element = scroller.current;
    const begin = layout.tops[next.lane] ?? 0;
    const end = layout.tops[next.lane + 1] ?? 0;
    if (element && (begin < element.scrollTop || end > element.scrollTop + seen)) element.scrollTop = begin;
  };

  const found = pointed && phaseAt(layout, scaleOf(range, width), pointed.x, pointed.y + scrolled);
  const tip = pointed && (found ? say(found.phase, found.lane) : laneTip(layout, traces, pointed.x, pointed.y + scrolled));
  return (
    <div class="lanes">
      <canvas ref={axis} aria-hidden="true" />
      <div class="lanes-body" style={{ height: `${seen}px` }}>
        <canvas ref={canvas} aria-hidden="true" />
        <div
          ref={scroller} class="lanes-scroller" tabIndex={0} role="application" aria-roledescription="timeline"
          aria-label="Phases of processes. Arrow keys go from phase to phase and from process to process, Enter zooms to the phase, plus and minus zoom, Escape shows all."
          onScroll={({ currentTarget }) => setScrolled(currentTarget.scrollTop)} onKeyDown={onKeyDown}
        >
          <div style={{ height: `${all}px` }} />
        </div>
        {drag && <div class="dragged" style={{ left: `${drag[0]}px`, width: `${drag[1] - drag[0]}px` }} />}
        {pointed && tip && (
          <div class="tip" style={{ top: `${pointed.y + 18}px`, ...(pointed.x > width * 0.6 ? { right: `${width - pointed.x + 8}px` } : { left: `${pointed.x + 8}px` }) }}>
            {tip}
          </div>
        )}
      </div>
      <HoverLine width={width} />
      <p class="chosen-phase" role="status">{chosen ? say(chosen.phase, chosen.lane) : ""}</p>
    </div>
  );
}

/** At the left of the lanes: which process it is, in full. */
function laneTip(layout: LaneLayout, traces: readonly Trace[], x: number, y: number): string | null {
  const lane = layout.lanes[laneAt(layout, y)];
  const process = lane && traces[lane.trace]?.head.processes[lane.process];
  if (process === undefined || x > LEFT_MARGIN) return null;
  const command = process.arguments.length > 0 ? shortened(commandLine(process.arguments), 300) : visible(process.program);
  return `${command} (process ${process.number}${process.executed ? "" : ", forked"}). A click shows its events only, or all again.`;
}
