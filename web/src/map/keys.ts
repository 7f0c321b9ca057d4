// The map by keyboard.

import { mark, selectedEvent } from "../state";
import { dotBeside, dotOfEvent, type DrawnDots } from "./drawn";
import { pointOf } from "./gestures";
import type { Places } from "./places";
import { pan, reveal, showAll, zoom } from "./view";

/** How much nearer one press of a key goes. */
const STEP = 1.5;

/** What the line below the map says. */
export const KEYS_HELP: readonly (readonly [keys: string, what: string])[] = [
  ["Arrow keys", "move"],
  ["+ −", "zoom, at the event chosen; x X in time only, y Y in places only"],
  ["[ ]", "previous and next event"],
  ["0, Escape", "all"],
  ["Backspace", "back to what was shown before"],
  ["drag", "zoom to the box, or along one axis"],
  ["Ctrl and wheel", "zoom at the pointer"],
  ["Shift and drag, middle button", "move"],
  ["two fingers", "zoom and move"],
];

/** Does what a key says; false if it means nothing here. */
export function mapKey(event: KeyboardEvent, places: Places, drawn: readonly DrawnDots[]): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const centre = () => centreOf(places, drawn);
  switch (event.key) {
    case "ArrowLeft":
    case "ArrowRight":
      pan(places, event.key === "ArrowLeft" ? -0.1 : 0.1, 0);
      return true;
    case "ArrowUp":
    case "ArrowDown":
      pan(places, 0, event.key === "ArrowUp" ? 0.1 : -0.1);
      return true;
    case "+":
    case "=":
      zoom(places, { time: 1 / STEP, place: 1 / STEP }, ...centre());
      return true;
    case "-":
    case "_":
      zoom(places, { time: STEP, place: STEP }, ...centre());
      return true;
    case "x":
    case "X":
      zoom(places, { time: event.key === "x" ? 1 / STEP : STEP, place: 1 }, ...centre());
      return true;
    case "y":
    case "Y":
      zoom(places, { time: 1, place: event.key === "y" ? 1 / STEP : STEP }, ...centre());
      return true;
    case "[":
    case "]":
      step(places, drawn, event.key === "]" ? 1 : -1);
      return true;
    case "0":
    case "Escape":
      showAll();
      if (event.key === "Escape") {
        selectedEvent.value = null;
        mark.value = null;
      }
      return true;
    default:
      return false;
  }
}

/** Where keys zoom to, as shares of width and height: the chosen event if it is in view, else the middle. */
function centreOf(places: Places, drawn: readonly DrawnDots[]): [across: number, up: number] {
  const found = dotOfEvent(drawn, selectedEvent.value);
  if (found === null) return [0.5, 0.5];
  const { dots } = found.drawn;
  const [x, y] = pointOf(places, dots.at[found.nth] ?? 0, dots.place[found.nth] ?? 0, 1, 1);
  return x >= 0 && x <= 1 && y >= 0 && y <= 1 ? [x, 1 - y] : [0.5, 0.5];
}

/** To the next dot in time, or the one before, among those that the chosen one is of. */
function step(places: Places, drawn: readonly DrawnDots[], by: 1 | -1): void {
  const next = dotBeside(drawn, dotOfEvent(drawn, selectedEvent.value), by);
  const side = next?.drawn.side(next.nth);
  if (!next || !side) return;
  const { dots } = next.drawn;
  selectedEvent.value = { trace: side.number, row: dots.row[next.nth] ?? 0 };
  reveal(places, dots.at[next.nth] ?? 0, dots.place[next.nth] ?? 0);
}
