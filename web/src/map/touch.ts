// Fingers on the map: one moves what is shown, two zoom and move. A finger that goes up or down scrolls the page, as everywhere; the style
// sheet says so with `touch-action`.

import type { Places } from "./places";
import { pan, zoom } from "./view";

type Point = readonly [x: number, y: number];

/** Listens on the plot; the returned function stops. */
export function listenForTouch(over: HTMLElement, places: () => Places): () => void {
  const fingers = new Map<number, Point>();
  const place = (event: PointerEvent): [Point, DOMRect] => {
    const box = over.getBoundingClientRect();
    return [[event.clientX - box.left, event.clientY - box.top], box];
  };
  const down = (event: PointerEvent) => {
    if (event.pointerType !== "touch") return;
    fingers.set(event.pointerId, place(event)[0]);
    over.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent) => {
    const before = fingers.get(event.pointerId);
    if (before === undefined) return;
    const [now, box] = place(event);
    fingers.set(event.pointerId, now);
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) pinch(places(), before, now, other, box);
    else pan(places(), (before[0] - now[0]) / box.width, (now[1] - before[1]) / box.height);
  };
  const up = (event: PointerEvent) => fingers.delete(event.pointerId);
  over.addEventListener("pointerdown", down);
  over.addEventListener("pointermove", move);
  over.addEventListener("pointerup", up);
  over.addEventListener("pointercancel", up);
  return () => {
    over.removeEventListener("pointerdown", down);
    over.removeEventListener("pointermove", move);
    over.removeEventListener("pointerup", up);
    over.removeEventListener("pointercancel", up);
  };
}

/** One of two fingers moved: what lies between them stays between them. */
function pinch(places: Places, before: Point, now: Point, other: Point, { width, height }: DOMRect): void {
  const apart = (point: Point) => Math.max(Math.hypot(point[0] - other[0], point[1] - other[1]), 10);
  const factor = Math.min(Math.max(apart(before) / apart(now), 0.5), 2);
  zoom(places, { time: factor, place: factor }, (now[0] + other[0]) / 2 / width, 1 - (now[1] + other[1]) / 2 / height);
  pan(places, (before[0] - now[0]) / 2 / width, (now[1] - before[1]) / 2 / height);
}
