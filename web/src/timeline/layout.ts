// Where lanes stand, and which phase is at a place: what drawing, pointing and keys share.

import { firstNot } from "../halving";
import { firstEndingAfter, type Lane, type LanePhase } from "./lanes";
import { type Scale, toMoment, toPixel } from "./scale";

/** Of one level of phases, in pixels. */
export const LEVEL_HEIGHT = 17;
/** Below each lane. */
export const LANE_GAP = 4;

export interface LaneLayout {
  lanes: readonly Lane[];
  /** Where each lane begins, and where the last one ends. */
  tops: Float64Array;
  /** Whether inner phases stand below the outer ones, or over them. */
  nested: boolean;
}

export function layOut(lanes: readonly Lane[], nested: boolean): LaneLayout {
  const tops = new Float64Array(lanes.length + 1);
  lanes.forEach((lane, place) => {
    const levels = nested ? Math.max(1, lane.levels.length) : 1;
    tops[place + 1] = (tops[place] ?? 0) + levels * LEVEL_HEIGHT + LANE_GAP;
  });
  return { lanes, tops, nested };
}

/** How high all lanes are together. */
export function heightOf(layout: LaneLayout): number {
  return layout.tops[layout.lanes.length] ?? 0;
}

/** The lane at a height: a place in the layout's lanes. */
export function laneAt(layout: LaneLayout, y: number): number {
  return firstNot((place) => (layout.tops[place] ?? 0) <= y, 1, layout.lanes.length) - 1;
}

/** The phase at a place, or one at most three pixels beside it; the innermost where they lie over one another. */
export function phaseAt(layout: LaneLayout, scale: Scale, x: number, y: number): { lane: number; phase: LanePhase } | null {
  if (layout.lanes.length === 0 || y < 0 || y >= heightOf(layout)) return null;
  const place = laneAt(layout, y);
  const lane = layout.lanes[place];
  if (lane === undefined) return null;
  const depth = Math.floor((y - (layout.tops[place] ?? 0)) / LEVEL_HEIGHT);
  const levels = layout.nested ? [lane.levels[depth] ?? []] : [...lane.levels].reverse();
  for (const reach of [0, 3]) {
    for (const level of levels) {
      const first = firstEndingAfter(level, toMoment(scale, x - reach));
      const found = level[first];
      if (found && toPixel(scale, found.phase.begin) <= x + reach) return { lane: place, phase: found };
    }
  }
  return null;
}
