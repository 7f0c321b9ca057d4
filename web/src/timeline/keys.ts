// The timeline by keyboard: from phase to phase and from process to process.

import type { PhaseHead } from "../data/payload";
import { showTime, timeRange, wholeTime } from "../state";
import { zoomAt } from "./gestures";
import { firstEndingAfter, type LanePhase } from "./lanes";
import type { LaneLayout } from "./layout";

export interface ChosenPhase {
  lane: number;
  phase: LanePhase;
}

/** Does what a key says, and returns the phase that is chosen then; null: none, undefined: the key means nothing here. */
export function stepByKey(key: string, layout: LaneLayout, chosen: ChosenPhase | null): ChosenPhase | null | undefined {
  const [begin, end] = timeRange.value;
  const middle = chosen ? (chosen.phase.phase.begin + chosen.phase.phase.end) / 2 : (begin + end) / 2;
  switch (key) {
    case "ArrowRight":
      return chosen ? beside(layout, chosen, 1) : firstOf(layout, 0, 1);
    case "ArrowLeft":
      return chosen ? beside(layout, chosen, -1) : firstOf(layout, 0, 1);
    case "ArrowDown":
      return chosen ? (firstOf(layout, chosen.lane + 1, 1, chosen.phase.phase.begin) ?? chosen) : firstOf(layout, 0, 1);
    case "ArrowUp":
      return chosen ? (firstOf(layout, chosen.lane - 1, -1, chosen.phase.phase.begin) ?? chosen) : firstOf(layout, 0, 1);
    case "Enter":
      if (chosen) zoomTo(chosen.phase.phase);
      return chosen;
    case "+":
    case "=":
      zoomAt(middle, 0.5);
      return chosen;
    case "-":
      zoomAt(middle, 2);
      return chosen;
    case "Escape":
      timeRange.value = wholeTime.value;
      return null;
    default:
      return undefined;
  }
}

/** Shows a phase with some time around it. */
export function zoomTo(phase: PhaseHead): void {
  const air = Math.max((phase.end - phase.begin) * 0.1, 500);
  showTime(phase.begin - air, phase.end + air);
}

/** Moves the time shown until a phase begins in it. */
export function followPhase(phase: PhaseHead): void {
  const [begin, end] = timeRange.value;
  if (phase.begin >= begin && phase.begin <= end) return;
  const width = end - begin;
  showTime(phase.begin - width * 0.1, phase.begin + width * 0.9);
}

function beside(layout: LaneLayout, { lane, phase }: ChosenPhase, step: number): ChosenPhase {
  const phases = layout.lanes[lane]?.phases ?? [];
  const next = phases[phases.indexOf(phase) + step];
  return { lane, phase: next ?? phase };
}

/** The phase nearest to a moment in the first lane with phases, from a lane on. */
function firstOf(layout: LaneLayout, from: number, step: number, moment = -Infinity): ChosenPhase | null {
  for (let lane = from; lane >= 0 && lane < layout.lanes.length; lane += step) {
    const outer = layout.lanes[lane]?.levels[0] ?? [];
    const phase = outer[Math.min(firstEndingAfter(outer, moment), outer.length - 1)];
    if (phase) return { lane, phase };
  }
  return null;
}
