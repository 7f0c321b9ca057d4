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

/** Circle, square, triangle, diamond; then hexagon, star, the triangle on its point, plus: with four colours, eight commands are told apart. */
function shape(command: number): string {
  const r = RADIUS;
  switch (command % 8) {
    case 1: return `M${-r + 0.4},${-r + 0.4}H${r - 0.4}V${r - 0.4}H${-r + 0.4}Z`;
    case 2: return `M0,${-r - 0.6}L${r + 0.4},${r - 0.4}H${-r - 0.4}Z`;
    case 3: return `M0,${-r - 1}L${r + 1},0L0,${r + 1}L${-r - 1},0Z`;
    case 4: return `M${-r},0L${-r / 2},${-r}H${r / 2}L${r},0L${r / 2},${r}H${-r / 2}Z`;
    case 5: return `M0,${-r - 2}L1.6,-1.6L${r + 2},0L1.6,1.6L0,${r + 2}L-1.6,1.6L${-r - 2},0L-1.6,-1.6Z`;
    case 6: return `M0,${r + 0.6}L${r + 0.4},${-r + 0.4}H${-r - 0.4}Z`;
    case 7: return `M-1.6,${-r - 0.6}H1.6V-1.6H${r + 0.6}V1.6H1.6V${r + 0.6}H-1.6V1.6H${-r - 0.6}V-1.6H-1.6Z`;
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
