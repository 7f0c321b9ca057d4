// A panel of the page: a landmark with a heading, to which the links at the top jump.

import type { ComponentChildren } from "preact";

export interface PanelProps {
  /** What links jump to: an id of `PANELS`. */
  id: string;
  title: string;
  /** A sentence beside the heading: what it shows. */
  about?: ComponentChildren;
  /** Switches at the right of the heading. */
  tools?: ComponentChildren;
  children: ComponentChildren;
}

export function Panel({ id, title, about, tools, children }: PanelProps) {
  return (
    <section id={id} class="panel" aria-labelledby={`${id}-heading`} tabIndex={-1}>
      <div class="panel-head">
        <h2 id={`${id}-heading`}>{title}</h2>
        {about !== undefined && <p class="about">{about}</p>}
        {tools !== undefined && <div class="panel-tools">{tools}</div>}
      </div>
      {children}
    </section>
  );
}
