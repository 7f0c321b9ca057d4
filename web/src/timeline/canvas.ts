// A canvas as sharp as the screen: its size in the screen's pixels, drawn on in those of the page.

import { wholeCharacters } from "../names";

/** Makes the canvas fit, and returns what to draw with, cleared; null if there is nothing to draw on. */
export function prepare(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const ratio = window.devicePixelRatio || 1;
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== across) canvas.width = across;
  if (canvas.height !== down) canvas.height = down;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  if (context === null) return null;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = FONT;
  context.textBaseline = "middle";
  return context;
}

export const FONT = '11px system-ui, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';

/** The text, cut so that it is at most so many pixels wide; empty if not even a few letters fit. */
export function fitting(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (width < 14) return "";
  if (text.length * 4 < width && context.measureText(text).width <= width) return text;
  if (context.measureText(text).width <= width) return text;
  let low = 0;
  let high = Math.min(text.length, Math.floor(width / 3));
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return low < 3 ? "" : `${wholeCharacters(text.slice(0, low))}…`;
}
