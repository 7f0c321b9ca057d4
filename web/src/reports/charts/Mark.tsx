// The mark of one run: its shape says whose run it is, its filling whether it counts. Colour repeats the shape.

import type { Sample } from "../types";

export interface MarkProps {
  x: number;
  y: number;
  command: number;
  use: Sample["used"]["use"];
  isOutlier: boolean;
  isPointed?: boolean;
}

const RADIUS = 4.2;

export function Mark({ x, y, command, use, isOutlier, isPointed = false }: MarkProps) {
  const kind = use === "counted" ? "counts" : use === "failed" ? "failed" : "hollow";
  return (
    <g class={`report-mark command-${command % 4} ${kind}${isPointed ? " pointed" : ""}`} transform={`translate(${x.toFixed(1)},${y.toFixed(1)})`}>
      {isPointed && <circle class="halo" r={9} />}
      {isOutlier && <circle class="ring" r={7} />}
      {use === "failed" ? <path class="cross" d="M-4-4L4 4M-4 4L4-4" /> : <path class="body" d={shape(command)} />}
      {use === "contradicts" && <path class="stroke" d="M0-7V7" />}
    </g>
  );
}

/** Circle, square, triangle, diamond, then again. */
function shape(command: number): string {
  const r = RADIUS;
  switch (command % 4) {
    case 1: return `M${-r + 0.4},${-r + 0.4}H${r - 0.4}V${r - 0.4}H${-r + 0.4}Z`;
    case 2: return `M0,${-r - 0.6}L${r + 0.4},${r - 0.4}H${-r - 0.4}Z`;
    case 3: return `M0,${-r - 1}L${r + 1},0L0,${r + 1}L${-r - 1},0Z`;
    default: return `M${-r},0A${r},${r} 0 1 1 ${r},0A${r},${r} 0 1 1 ${-r},0Z`;
  }
}

/** A mark beside a word. */
export function MarkSign(props: Omit<MarkProps, "x" | "y">) {
  return (
    <svg class="report-sign" width="20" height="18" viewBox="-10 -9 20 18" aria-hidden="true">
      <Mark x={0} y={0} {...props} />
    </svg>
  );
}
