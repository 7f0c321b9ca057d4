// The frame of a chart by uPlot: axes, scales, the pointer's cross and the box that is dragged. What stands in it we draw ourselves
// (docs/decisions/0022-charting.md); uPlot's own series hold no data.

import uPlot from "uplot";

import { ink } from "../theme";
import { FONT } from "../timeline/canvas";
import { tickLabel, ticks, tickStep } from "../timeline/scale";
import { LEFT_MARGIN, RIGHT_MARGIN } from "./margins";

/** Pixels of the page below the plot, for the axis of time. */
export const AXIS_HEIGHT = 26;

/** Moving less than this many pixels up or down while dragging sideways zooms in time alone, and the other way round. */
const ONE_WAY = 28;

export interface PlotOptions {
  width: number;
  height: number;
  /** Places that get a tick on the vertical axis, and their labels. */
  placeTicks: (low: number, high: number, most: number) => { place: number; label: string }[];
  /** Draws below the axes' lines, then above them. */
  drawGround: (plot: uPlot) => void;
  drawDots: (plot: uPlot) => void;
  /** A box was dragged: null where it reaches over the whole of an axis. */
  onBox: (time: [number, number] | null, place: [number, number] | null) => void;
  /** Whether a press of the button begins a box. */
  isBox: (event: MouseEvent) => boolean;
}

/** Makes a chart inside an element; call its `destroy` in the end. */
export function makePlot(parent: HTMLElement, options: PlotOptions): uPlot {
  const grid = { show: false };
  const tick = { size: 5, width: 1, stroke: () => ink("elsewhere") };
  const stroke = () => ink("muted");
  let labels: string[] = [];
  return new uPlot(
    {
      width: options.width,
      height: options.height,
      padding: [0, RIGHT_MARGIN, 0, 0],
      legend: { show: false },
      cursor: {
        x: false,
        points: { show: false },
        drag: { x: true, y: true, uni: ONE_WAY, dist: 4, setScale: false },
        bind: {
          mousedown: (_plot, _target, handler) => (event) => (options.isBox(event) ? handler(event) : null),
          dblclick: () => () => null,
        },
      },
      scales: { x: { time: false, auto: false }, y: { auto: false } },
      series: [{}, { paths: () => null, points: { show: false } }],
      axes: [
        {
          font: FONT, stroke, grid, ticks: tick, size: AXIS_HEIGHT, gap: 3,
          splits: (_plot, _axis, begin, end) => ticks({ begin, end, left: 0, right: Math.max(_plot.width - LEFT_MARGIN - RIGHT_MARGIN, 1) }),
          values: (plot, moments) => {
            const { min = 0, max = 1 } = plot.scales["x"] ?? {};
            const step = tickStep({ begin: min ?? 0, end: max ?? 1, left: 0, right: Math.max(plot.width - LEFT_MARGIN - RIGHT_MARGIN, 1) });
            return moments.map((moment) => tickLabel(moment, step));
          },
        },
        {
          font: FONT, stroke, grid, ticks: tick, size: LEFT_MARGIN, gap: 4,
          splits: (plot, _axis, low, high) => {
            const found = options.placeTicks(low, high, Math.max(2, Math.floor(plot.height / 48)));
            labels = found.map(({ label }) => label);
            return found.map(({ place }) => place);
          },
          values: () => labels,
        },
      ],
      hooks: {
        drawClear: [options.drawGround],
        draw: [options.drawDots],
        setSelect: [
          (plot) => {
            const { left, top, width, height } = plot.select;
            if (width <= 0 && height <= 0) return;
            const isWhole = (part: number, whole: number) => part <= 0 || part >= whole - 1;
            const over = plot.over.getBoundingClientRect();
            const time: [number, number] | null = isWhole(width, over.width) ? null : [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
            const place: [number, number] | null = isWhole(height, over.height) ? null : [plot.posToVal(top + height, "y"), plot.posToVal(top, "y")];
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            options.onBox(time, place);
          },
        ],
      },
    },
    [[0, 1], [0, 1]],
    parent,
  );
}
