// Panels that are out of sight at first wait until the map stands, and then come one by one, so that the page answers in between.
// Whoever looks for one finds it a moment later; those before it stand by then, so that it stays where it is.

import { signal, useComputed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

/** How many of them stand. */
const standing = signal(0);

/** Lets so many panels come, once the first picture is out. */
export function useTurns(all: number): void {
  useEffect(() => {
    let frame = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const next = () => {
      standing.value += 1;
      if (standing.value < all) timer = setTimeout(next);
    };
    // The map is drawn in the frame after this effect at the latest; that frame is to be seen first.
    frame = requestAnimationFrame(() => (frame = requestAnimationFrame(() => (timer = setTimeout(next)))));
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  }, [all]);
}

/** The panel of that turn, from 0 on. */
export function Later({ turn, children }: { turn: number; children: () => ComponentChildren }) {
  const isUp = useComputed(() => standing.value > turn);
  return isUp.value ? <>{children()}</> : null;
}
