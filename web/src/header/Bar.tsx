// The bar that stays in sight: links to the panels, the time that all of them show, whose events, and light or dark.

import { useLayoutEffect, useRef } from "preact/hooks";

import type { Trace } from "../data/trace";
import { ProcessChoice, Range, ThemeChoice } from "./controls";

/** The panels, in their order on the page. */
export interface PanelLink {
  id: string;
  title: string;
}

export function Bar({ traces, panels }: { traces: Trace[]; panels: readonly PanelLink[] }) {
  const bar = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const element = bar.current;
    if (element === null) return undefined;
    // What is jumped to must not lie below the bar, which has one line or two.
    const follow = () => document.documentElement.style.setProperty("--bar-height", `${element.offsetHeight}px`);
    const observer = new ResizeObserver(follow);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <section ref={bar} class="bar" aria-label="What is shown">
      <nav aria-label="Panels">
        {panels.map(({ id, title }) => (
          <a key={id} href={`#${id}`}>{title}</a>
        ))}
      </nav>
      <div class="controls">
        <Range />
        <ProcessChoice traces={traces} />
        <ThemeChoice />
      </div>
    </section>
  );
}
