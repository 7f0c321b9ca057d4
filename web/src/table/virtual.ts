// Which rows of a scroll area are in sight. Rows have one height, so there is nothing to remember of each. Browsers cut elements off that are
// higher than some 17 million pixels (Firefox; Chromium 33), which is less than a million rows: higher tables are scrolled faster than their
// scroll bar says.

import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

/** No scroll area is made higher than this many pixels. */
const HIGHEST = 8_000_000;

/** Rows above and below those in sight, so that slow scrolling shows no gap. */
const SPARE = 6;

/** Of the scroll area in pixels, before it is measured: rows stand at once. */
const SUPPOSED = 400;

/** A row in sight: its place among all, and where it stands if the area is as high as all rows. */
export interface RowInSight {
  index: number;
  start: number;
}

export interface VirtualRows {
  /** Places in sight, and a few around them. */
  items: RowInSight[];
  /** Of the element around the rows, in pixels. */
  height: number;
  /** Where a row stands in that element, in pixels. */
  top: (item: RowInSight) => number;
  /** Scrolls a row into sight if it is not, below `above` pixels of what sticks to the top. */
  reveal: (place: number, above: number, below: number) => void;
}

export function useVirtualRows(scroller: RefObject<HTMLElement | null>, count: number, rowHeight: number): VirtualRows {
  // Of the scroll area: how high it is, and how far its rows are scrolled in it.
  const [seen, setSeen] = useState({ room: SUPPOSED, scrolled: 0 });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const look = () => setSeen((before) => {
      const [room, scrolled] = [element.clientHeight, element.scrollTop];
      return before.room === room && before.scrolled === scrolled ? before : { room, scrolled };
    });
    // It tells the first height, too.
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [scroller]);

  const all = count * rowHeight;
  const height = Math.min(all, HIGHEST);
  const factorOf = (room: number) => (all > height ? (all - room) / (height - room) : 1);
  const { room, scrolled } = seen;
  const offset = scrolled * factorOf(room);
  const inSight = Math.ceil(room / rowHeight) + 1;
  // Where there were more rows a moment ago, the last ones stand until the browser has moved the scroll bar.
  const top = Math.max(0, Math.min(Math.floor(offset / rowHeight), count - inSight));
  const first = Math.max(0, top - SPARE);
  const last = Math.min(count, top + inSight + SPARE);
  const items = Array.from({ length: Math.max(last - first, 0) }, (_, nth) => ({ index: first + nth, start: (first + nth) * rowHeight }));
  return {
    items,
    height,
    top: (item) => (all > height ? item.start - offset + scrolled : item.start),
    reveal: (place, above, below) => {
      const element = scroller.current;
      if (element === null) return;
      const factor = factorOf(element.clientHeight);
      const shown = element.scrollTop * factor;
      const begin = place * rowHeight;
      const free = element.clientHeight - above - below;
      if (begin < shown) element.scrollTop = begin / factor;
      else if (begin + rowHeight > shown + free) element.scrollTop = (begin + rowHeight - free) / factor;
    },
  };
}
