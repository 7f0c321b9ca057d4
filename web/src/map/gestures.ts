// What the pointer does on the map beside dragging a box, which is uPlot's: moving, panning, clicking, the wheel.

import { LEFT_MARGIN } from "../charts/margins";
import { hoverTime, timeRange } from "../state";
import type { Places } from "./places";
import { listenForTouch } from "./touch";
import { pan, placesShown, showAll, zoom } from "./view";

/** A press that moved less than this many pixels is a click. */
const CLICK = 4;

export interface MapGestures {
  places: () => Places;
  /** Where the pointer is on the plot, in pixels of the page; null: it left. */
  onMove: (point: [x: number, y: number] | null) => void;
  onClick: (x: number, y: number) => void;
  /** The wheel was turned without a key: the page scrolls, and the reader is told how to zoom. */
  onPlainWheel: () => void;
}

/** Whether a press of the button begins to pan and not to drag a box. */
export function isPan(event: MouseEvent): boolean {
  return event.button === 1 || (event.button === 0 && event.shiftKey);
}

/** Listens on the plot (`over`) and, for the wheel, on the whole chart; the returned function stops. */
export function listenOnMap(over: HTMLElement, chart: HTMLElement, target: MapGestures): () => void {
  let pressed: { x: number; y: number; panning: boolean; lastX: number; lastY: number } | null = null;
  const place = (event: MouseEvent): [number, number, DOMRect] => {
    const box = over.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top, box];
  };
  const down = (event: PointerEvent) => {
    const [x, y] = place(event);
    if (event.button > 1) return;
    pressed = { x, y, lastX: x, lastY: y, panning: isPan(event) };
    if (!pressed.panning) return;
    over.setPointerCapture(event.pointerId);
    over.classList.add("panning");
    event.preventDefault();
  };
  const move = (event: PointerEvent) => {
    const [x, y, box] = place(event);
    if (pressed?.panning) {
      pan(target.places(), -(x - pressed.lastX) / box.width, (y - pressed.lastY) / box.height);
      [pressed.lastX, pressed.lastY] = [x, y];
      target.onMove(null);
      return;
    }
    const [begin, end] = timeRange.value;
    hoverTime.value = x >= 0 && x <= box.width ? begin + (x / box.width) * (end - begin) : null;
    target.onMove(pressed ? null : [x, y]);
  };
  const up = (event: PointerEvent) => {
    const [x, y] = place(event);
    const begun = pressed;
    pressed = null;
    over.classList.remove("panning");
    if (begun && event.button === 0 && Math.abs(x - begun.x) < CLICK && Math.abs(y - begun.y) < CLICK) target.onClick(x, y);
  };
  const leave = () => {
    hoverTime.value = null;
    target.onMove(null);
  };
  const wheel = (event: WheelEvent) => {
    if (!event.ctrlKey && !event.metaKey) {
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        pan(target.places(), (event.deltaX || event.deltaY) / 800, 0);
        event.preventDefault();
      } else target.onPlainWheel();
      return;
    }
    // The browser would make the whole page larger.
    event.preventDefault();
    const [x, y, box] = place(event);
    const factor = 1.002 ** Math.max(-200, Math.min(200, event.deltaY));
    const onPlaces = event.clientX - chart.getBoundingClientRect().left < LEFT_MARGIN;
    const onTime = y > box.height;
    const inside = (share: number) => Math.min(Math.max(share, 0), 1);
    zoom(target.places(), { time: onPlaces ? 1 : factor, place: onTime ? 1 : factor }, inside(x / box.width), inside(1 - y / box.height));
  };
  // Chromium scrolls by itself on the middle button otherwise.
  const middle = (event: MouseEvent) => event.button === 1 && event.preventDefault();
  const stopTouch = listenForTouch(over, target.places);
  over.addEventListener("pointerdown", down);
  over.addEventListener("pointermove", move);
  // A box may end outside the plot.
  window.addEventListener("pointerup", up);
  window.addEventListener("pointercancel", up);
  over.addEventListener("pointerleave", leave);
  over.addEventListener("mousedown", middle);
  over.addEventListener("dblclick", showAll);
  chart.addEventListener("wheel", wheel, { passive: false });
  return () => {
    stopTouch();
    over.removeEventListener("pointerdown", down);
    over.removeEventListener("pointermove", move);
    window.removeEventListener("pointerup", up);
    window.removeEventListener("pointercancel", up);
    over.removeEventListener("pointerleave", leave);
    over.removeEventListener("mousedown", middle);
    over.removeEventListener("dblclick", showAll);
    chart.removeEventListener("wheel", wheel);
  };
}

/** Where a moment and a place stand on a plot of that size. */
export function pointOf(places: Places, at: number, place: number, width: number, height: number): [x: number, y: number] {
  const [begin, end] = timeRange.value;
  const [low, high] = placesShown(places);
  return [((at - begin) / (end - begin)) * width, ((high - place) / (high - low)) * height];
}
