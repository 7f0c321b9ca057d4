// What the pointer does on a chart of time: drag to zoom in, Ctrl and wheel to zoom at the pointer, double click to go back.

import { hoverTime, LEAST_TIME, showTime, timeRange, wholeTime } from "../state";
import { type Scale, toMoment } from "./scale";

/** A drag shorter than this many pixels is a click. */
const CLICK = 4;

export interface GestureTarget {
  /** The scale of now. */
  scale: () => Scale;
  /** The stretch that is being dragged, in pixels; null: none. */
  onDrag: (stretch: [number, number] | null) => void;
  /** A click, or the pointer without a button: where it is in the element. */
  onClick: (x: number, y: number) => void;
  onMove: (x: number, y: number) => void;
  onLeave: () => void;
}

/** Listens on an element; the returned function stops. */
export function listenForGestures(element: HTMLElement, target: GestureTarget): () => void {
  let from: number | null = null;
  const place = (event: MouseEvent): [number, number] => {
    const box = element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const inside = (x: number) => {
    const { left, right } = target.scale();
    return Math.min(Math.max(x, left), right);
  };
  const down = (event: PointerEvent) => {
    const [x] = place(event);
    if (event.button !== 0 || x > target.scale().right) return;
    from = x;
    // The button may be let go outside the chart: that must not be missed.
    element.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent) => {
    const [x, y] = place(event);
    const scale = target.scale();
    hoverTime.value = x >= scale.left && x <= scale.right ? toMoment(scale, x) : null;
    if (from !== null && Math.abs(x - from) >= CLICK) target.onDrag([inside(Math.min(from, x)), inside(Math.max(from, x))]);
    else target.onMove(x, y);
  };
  const up = (event: PointerEvent) => {
    const [x, y] = place(event);
    const begun = from;
    from = null;
    target.onDrag(null);
    if (begun === null) return;
    const scale = target.scale();
    if (Math.abs(x - begun) < CLICK) target.onClick(x, y);
    else showTime(toMoment(scale, inside(Math.min(begun, x))), toMoment(scale, inside(Math.max(begun, x))));
  };
  const leave = () => {
    if (from !== null) return;
    hoverTime.value = null;
    target.onLeave();
  };
  const cancel = () => {
    from = null;
    target.onDrag(null);
  };
  const wheel = (event: WheelEvent) => {
    // Alone it scrolls the page, or the lanes; pinching on a touchpad comes as a wheel with Ctrl.
    if (!event.ctrlKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
    if (zoomByWheel(event, target.scale(), place(event)[0])) event.preventDefault();
  };
  const back = () => (timeRange.value = wholeTime.value);
  element.addEventListener("pointerdown", down);
  element.addEventListener("pointermove", move);
  element.addEventListener("pointerup", up);
  element.addEventListener("pointercancel", cancel);
  element.addEventListener("pointerleave", leave);
  element.addEventListener("dblclick", back);
  element.addEventListener("wheel", wheel, { passive: false });
  return () => {
    element.removeEventListener("pointerdown", down);
    element.removeEventListener("pointermove", move);
    element.removeEventListener("pointerup", up);
    element.removeEventListener("pointercancel", cancel);
    element.removeEventListener("pointerleave", leave);
    element.removeEventListener("dblclick", back);
    element.removeEventListener("wheel", wheel);
  };
}

/** Zooms, or pans where the wheel goes sideways; false if there is nothing left to zoom out of, so that the page scrolls on. */
function zoomByWheel(event: WheelEvent, scale: Scale, x: number): boolean {
  const width = scale.end - scale.begin;
  const [low, high] = wholeTime.value;
  const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
  if (sideways) {
    const step = ((event.deltaX || event.deltaY) / (scale.right - scale.left)) * width;
    showTime(scale.begin + step, scale.end + step);
    return true;
  }
  if (event.deltaY > 0 && width >= high - low) return false;
  zoomAt(toMoment(scale, Math.min(Math.max(x, scale.left), scale.right)), 1.0015 ** event.deltaY);
  return true;
}

/** Makes the time shown longer by a factor; a moment stays where it is. */
export function zoomAt(moment: number, factor: number): void {
  const [begin, end] = timeRange.value;
  const width = Math.max((end - begin) * factor, LEAST_TIME);
  const before = (moment - begin) / (end - begin);
  showTime(moment - width * before, moment - width * before + width);
}
