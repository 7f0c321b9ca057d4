// The whole time at a glance, below the lanes: how dense first touches are, and a window that can be moved and stretched.

import { useEffect, useMemo, useRef } from "preact/hooks";

import { LEFT_MARGIN } from "../charts/margins";
import type { Trace } from "../data/trace";
import { count, time } from "../format";
import { letterOf } from "../parts/TraceBadge";
import { shownProcesses } from "../processes";
import { LEAST_TIME, selectedProcess, showTime, timeRange, wholeTime } from "../state";
import { colour, ink, isDark } from "../theme";
import { prepare } from "./canvas";
import { density, hasTouches } from "./density";
import { scaleOf, toMoment, toPixel } from "./scale";

const HEIGHT = 34;

export function Overview({ traces, width }: { traces: Trace[]; width: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const whole = wholeTime.value;
  const process = selectedProcess.value;
  const dark = isDark.value;
  const scale = scaleOf(whole, width);
  const bins = Math.max(1, Math.floor((scale.right - scale.left) / 2));
  const counts = useMemo(
    () => (width === 0 ? [] : traces.map((trace, place) => density(trace, whole, bins, shownProcesses(traces, place, process)))),
    [traces, whole, bins, process, width === 0]);
  const what = useMemo(() => traces.map((trace) => (hasTouches(trace) ? "touches" : trace.events > 0 ? "reads" : "no events")), [traces]);
  const most = counts.reduce((top, bin) => bin.reduce((high, value) => Math.max(high, value), top), 1);

  useEffect(() => {
    const context = canvas.current && width > 0 ? prepare(canvas.current, width, HEIGHT) : null;
    if (context === null) return;
    const share = HEIGHT / counts.length;
    counts.forEach((bin, place) => {
      context.fillStyle = counts.length > 1 ? colour("traces", place === 0 ? "a" : "b") : ink("accent");
      bin.forEach((value, nth) => {
        // The root: single touches stay in sight beside the bursts of the loader.
        const height = value === 0 ? 0 : Math.max(1, Math.sqrt(value / most) * (share - 2));
        context.fillRect(scale.left + nth * 2, share * (place + 1) - height, 2, height);
      });
    });
    context.fillStyle = ink("muted");
    const labels = what.map((word, place) => (counts.length > 1 ? `${word} ${letterOf(place)}` : word));
    labels.forEach((label, place) => context.fillText(label, 0, share * (place + 0.5)));
  }, [counts, width, dark, most, scale.left]);

  const [begin, end] = timeRange.value;
  const from = toPixel(scale, begin);
  const to = toPixel(scale, end);
  return (
    <div class="overview" style={{ height: `${HEIGHT}px` }} title={what.every((word) => word === "no events") ? undefined : `${what.every((word) => word !== "reads") ? "First touches" : "Calls and reads"} over the whole time; at most ${count(most)} in ${time((whole[1] - whole[0]) / bins)}`}>
      <canvas ref={canvas} aria-hidden="true" />
      {width > 0 && (
        <>
          <div class="shade" style={{ left: `${LEFT_MARGIN}px`, width: `${from - scale.left}px` }} />
          <div class="shade" style={{ left: `${to}px`, width: `${scale.right - to}px` }} />
          <Brush from={from} to={to} width={width} />
        </>
      )}
    </div>
  );
}

/** The window: its body moves it, its two edges stretch it; beside it, a drag makes a new one. */
function Brush({ from, to, width }: { from: number; to: number; width: number }) {
  const drag = useRef<{ part: "body" | "begin" | "end" | "new"; at: number; range: [number, number] } | null>(null);
  const whole = wholeTime.value;
  const [begin, end] = timeRange.value;
  const scale = scaleOf(whole, width);
  const momentOf = (event: PointerEvent, element: HTMLElement) => toMoment(scale, event.clientX - element.getBoundingClientRect().left);
  const down = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    if (event.button !== 0) return;
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left;
    const isWhole = begin <= whole[0] && end >= whole[1];
    const part = Math.abs(x - from) < 6 ? "begin" : Math.abs(x - to) < 6 ? "end" : x > from && x < to && !isWhole ? "body" : "new";
    drag.current = { part, at: momentOf(event, event.currentTarget), range: [begin, end] };
    event.currentTarget.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    const now = drag.current;
    if (now === null) return;
    const moment = Math.min(Math.max(momentOf(event, event.currentTarget), whole[0]), whole[1]);
    const [first, last] = now.range;
    if (now.part === "body") showTime(first + moment - now.at, last + moment - now.at);
    else if (now.part === "begin") showTime(Math.min(moment, last - LEAST_TIME), last);
    else if (now.part === "end") showTime(first, Math.max(moment, first + LEAST_TIME));
    else if (Math.abs(moment - now.at) > (whole[1] - whole[0]) / 200) showTime(Math.min(now.at, moment), Math.max(now.at, moment));
  };
  const stop = () => (drag.current = null);
  return (
    <div class="brush" onPointerDown={down} onPointerMove={move} onPointerUp={stop} onPointerCancel={stop} onDblClick={() => (timeRange.value = whole)}>
      <Handle name="Begin of the time shown" at={from} value={begin} change={(moment) => showTime(Math.min(moment, end - LEAST_TIME), end)} />
      <Handle name="End of the time shown" at={to} value={end} change={(moment) => showTime(begin, Math.max(moment, begin + LEAST_TIME))} />
      <div class="window" style={{ left: `${from}px`, width: `${to - from}px` }} />
    </div>
  );
}

function Handle({ name, at, value, change }: { name: string; at: number; value: number; change: (moment: number) => void }) {
  const whole = wholeTime.value;
  const onKeyDown = (event: KeyboardEvent) => {
    const [begin, end] = timeRange.value;
    const step = (end - begin) / (event.shiftKey ? 4 : 50);
    const steps: Record<string, number> = { ArrowLeft: value - step, ArrowDown: value - step, ArrowRight: value + step, ArrowUp: value + step, Home: whole[0], End: whole[1] };
    const to = steps[event.key];
    if (to === undefined) return;
    event.preventDefault();
    change(Math.min(Math.max(to, whole[0]), whole[1]));
  };
  return (
    <div
      class="handle" role="slider" tabIndex={0} aria-label={name} aria-valuemin={whole[0] / 1e6} aria-valuemax={whole[1] / 1e6} aria-valuenow={value / 1e6}
      aria-valuetext={time(value)} style={{ left: `${at}px` }} onKeyDown={onKeyDown}
    />
  );
}
