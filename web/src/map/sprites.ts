// Dots as shapes, so that kinds are told apart without colour: drawn once each, then copied.

import { DOT_KINDS } from "../data/trace";
import { entries } from "../theme";

/** More dots in view than this are drawn as pixels: shapes would lie over one another. */
export const MOST_SHAPES = 2500;

/** A shape's path about the origin, of radius `size`. */
function tracePath(context: CanvasRenderingContext2D | Path2D, shape: string, size: number): void {
  switch (shape) {
    case "diamond":
      context.moveTo(0, -size * 1.25);
      context.lineTo(size * 1.25, 0);
      context.lineTo(0, size * 1.25);
      context.lineTo(-size * 1.25, 0);
      context.closePath();
      return;
    case "square":
      context.rect(-size * 0.9, -size * 0.9, size * 1.8, size * 1.8);
      return;
    case "triangle":
      context.moveTo(0, -size * 1.2);
      context.lineTo(size * 1.15, size * 0.9);
      context.lineTo(-size * 1.15, size * 0.9);
      context.closePath();
      return;
    case "bar":
      context.rect(-size * 0.45, -size * 1.2, size * 0.9, size * 2.4);
      return;
    case "cross":
      for (const [x, y, wide, high] of [[-1.15, -0.35, 2.3, 0.7], [-0.35, -1.15, 0.7, 2.3]] as const) context.rect(x * size, y * size, wide * size, high * size);
      return;
    default:
      context.arc(0, 0, size, 0, 2 * Math.PI);
  }
}

/** Pictures of all kinds of dots: filled ones, and hollow ones for the second trace. */
export class Sprites {
  readonly half: number;
  private readonly pictures: HTMLCanvasElement[] = [];

  /** `radius` in pixels of the screen; a rim in the background's colour keeps neighbours apart. */
  constructor(radius: number, isHollow: boolean, isDark: boolean, background: string) {
    this.half = Math.ceil(radius * 1.3 + 2);
    for (const kind of DOT_KINDS) {
      const found = entries("dots").find(({ id }) => id === kind);
      this.pictures.push(this.draw(found?.shape ?? "circle", (isDark ? found?.dark : found?.light) ?? "#808080", radius, isHollow, background));
    }
  }

  /** Draws a dot with its middle there. */
  put(context: CanvasRenderingContext2D, kind: number, x: number, y: number): void {
    const picture = this.pictures[kind];
    if (picture) context.drawImage(picture, Math.round(x - this.half), Math.round(y - this.half));
  }

  private draw(shape: string, colour: string, radius: number, isHollow: boolean, background: string): HTMLCanvasElement {
    const picture = document.createElement("canvas");
    picture.width = picture.height = this.half * 2;
    const context = picture.getContext("2d");
    if (context === null) return picture;
    context.translate(this.half, this.half);
    context.beginPath();
    tracePath(context, shape, radius * (isHollow ? 0.85 : 1));
    if (isHollow) {
      context.fillStyle = background;
      context.globalAlpha = 0.6;
      context.fill();
      context.globalAlpha = 1;
      context.strokeStyle = colour;
      context.lineWidth = Math.max(1.2, radius * 0.4);
      context.stroke();
    } else {
      context.lineWidth = Math.max(1, radius * 0.3);
      context.strokeStyle = background;
      context.stroke();
      context.fillStyle = colour;
      context.fill();
    }
    return picture;
  }
}
