// Draws the lanes that are in sight. Phases narrower than a pixel that fall on the one drawn before are left out: a process may have thousands.

import { LEFT_MARGIN } from "../charts/margins";
import { colour, ink, textOn } from "../theme";
import { fitting } from "./canvas";
import { firstEndingAfter, type LanePhase } from "./lanes";
import { LANE_GAP, type LaneLayout, laneAt, LEVEL_HEIGHT } from "./layout";
import type { Mark } from "./marks";
import { type Scale, ticks, toPixel } from "./scale";

/** In less room than this many pixels no name is drawn. */
const LEAST_LABEL = 22;

export interface LanesPicture {
  layout: LaneLayout;
  scale: Scale;
  /** How far the lanes are scrolled, and the height of what is seen of them. */
  scrolled: number;
  height: number;
  marks: readonly Mark[];
  /** Whether lanes say of which trace they are. */
  letters: boolean;
  /** A lane's place; others are drawn pale. */
  only: ((lane: number) => boolean) | null;
  chosen: LanePhase | null;
}

export function drawLanes(context: CanvasRenderingContext2D, picture: LanesPicture): void {
  const { layout, scale, scrolled, height, marks } = picture;
  context.fillStyle = ink("line");
  for (const moment of ticks(scale)) context.fillRect(Math.round(toPixel(scale, moment)), 0, 1, height);
  const from = laneAt(layout, scrolled);
  for (let place = from; place < layout.lanes.length && (layout.tops[place] ?? 0) < scrolled + height; place += 1) {
    context.globalAlpha = picture.only === null || picture.only(place) ? 1 : 0.3;
    drawLane(context, picture, place);
  }
  context.globalAlpha = 1;
  for (const mark of marks) {
    const x = Math.round(toPixel(scale, mark.at));
    if (x < scale.left || x > scale.right) continue;
    context.fillStyle = mark.colour();
    for (let y = 0; y < height; y += mark.dashed ? 6 : height) context.fillRect(x, y, 1.5, mark.dashed ? 3 : height);
  }
}

function drawLane(context: CanvasRenderingContext2D, picture: LanesPicture, place: number): void {
  const { layout, scale, scrolled, letters } = picture;
  const lane = layout.lanes[place];
  if (lane === undefined) return;
  const top = (layout.tops[place] ?? 0) - scrolled;
  const height = (layout.tops[place + 1] ?? 0) - scrolled - top - LANE_GAP;
  // The life of the process.
  const left = Math.max(toPixel(scale, lane.began), scale.left);
  const lasted = Math.min(toPixel(scale, lane.ended), scale.right);
  // A process that lived for less than a pixel is still there.
  const right = lasted >= left && left <= scale.right ? Math.max(lasted, left + 2) : lasted;
  context.fillStyle = ink("surface");
  if (right > left) context.fillRect(left, top, right - left, height);
  context.fillStyle = ink("elsewhere");
  if (right > left) context.fillRect(left, top + LEVEL_HEIGHT / 2, right - left, 1);

  lane.levels.forEach((level, depth) => {
    if (layout.nested) drawLevel(context, picture, level, top + depth * LEVEL_HEIGHT, []);
    else drawLevel(context, picture, level, top, lane.levels[depth + 1] ?? []);
  });

  context.fillStyle = ink("background");
  context.fillRect(0, top, LEFT_MARGIN, height);
  const letter = letters ? (lane.trace === 0 ? "A" : "B") : "";
  const y = top + LEVEL_HEIGHT / 2 + 0.5;
  if (letter !== "") {
    context.fillStyle = colour("traces", letter.toLowerCase());
    if (lane.trace === 0) {
      context.beginPath();
      context.arc(4, y, 4, 0, 2 * Math.PI);
      context.fill();
    } else context.fillRect(0, y - 4, 8, 8);
    context.font = `bold ${context.font}`;
    context.fillText(letter, 11, y);
    context.font = context.font.replace("bold ", "");
  }
  context.fillStyle = ink("text");
  const indent = letter === "" ? 0 : 21;
  context.fillText(fitting(context, lane.name, LEFT_MARGIN - 6 - indent), indent, y);
}

function drawLevel(context: CanvasRenderingContext2D, { scale, chosen }: LanesPicture, level: readonly LanePhase[], top: number, over: readonly LanePhase[]): void {
  let drawnTo = -1;
  for (let place = firstEndingAfter(level, scale.begin); place < level.length; place += 1) {
    const known = level[place];
    if (known === undefined || known.phase.begin > scale.end) break;
    const left = Math.max(toPixel(scale, known.phase.begin), scale.left);
    const right = Math.min(toPixel(scale, known.phase.end), scale.right);
    if (right <= drawnTo && known !== chosen) continue;
    const width = Math.max(right - left, 1);
    const fill = colour("phases", known.phase.kind);
    context.fillStyle = fill;
    context.fillRect(left, top, width, LEVEL_HEIGHT - 1);
    if (width > 3) {
      // An edge, so that neighbours of one kind stay two.
      context.fillStyle = ink("background");
      context.fillRect(left, top, 0.75, LEVEL_HEIGHT - 1);
    }
    drawnTo = left + width;
    if (known.phase.known !== "exactly" && width > 8) hatch(context, left, top, width);
    // Of a phase that others are drawn over, the label has room up to the first of them.
    const first = over[firstEndingAfter(over, Math.max(known.phase.begin, scale.begin))];
    const free = first ? Math.min(width, toPixel(scale, first.phase.begin) - left) : width;
    // Most are too narrow for a name: they are not asked for it.
    const text = free < LEAST_LABEL ? "" : fitting(context, known.label, free - 8);
    if (text !== "") {
      context.fillStyle = textOn(fill);
      context.fillText(text, left + 4, top + LEVEL_HEIGHT / 2);
    }
    if (known === chosen) {
      context.strokeStyle = ink("text");
      context.lineWidth = 2;
      context.strokeRect(left - 1, top, width + 2, LEVEL_HEIGHT - 1);
    }
  }
}

/** What is not known exactly has strokes along its lower edge. */
function hatch(context: CanvasRenderingContext2D, left: number, top: number, width: number): void {
  context.fillStyle = ink("text");
  context.globalAlpha *= 0.45;
  for (let x = left; x < left + width - 2; x += 6) context.fillRect(x, top + LEVEL_HEIGHT - 3, 3, 1.5);
  context.globalAlpha /= 0.45;
}
