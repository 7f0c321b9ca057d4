// How wide a chart is, so that it is drawn in real pixels and its text keeps its size.

import { useRef } from "preact/hooks";

import { useWidth } from "../../parts/useWidth";

/** The element to measure, and its width: `least` or more, and what most windows have until it is known. */
export function useChartWidth(least: number) {
  const element = useRef<HTMLDivElement>(null);
  const width = useWidth(element);
  return { element, width: width === 0 ? 1000 : Math.max(least, Math.floor(width)) };
}
