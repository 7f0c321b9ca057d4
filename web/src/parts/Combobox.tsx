// A field to search in, with a list that the arrow keys go through (the combobox of the ARIA practices): the file on the map, and what to go to.

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface ComboboxOption {
  /** Stable while the list is open. */
  key: string | number;
  title: string;
  /** What stands in the row: a cell each. */
  cells: ComponentChildren;
}

export interface ComboboxProps<Option extends ComboboxOption> {
  label: string;
  /** What the list is of, for screen readers. */
  listLabel: string;
  /** What the field says while nothing is searched for. */
  value: string;
  placeholder: string;
  /** For style sheets. */
  kind: string;
  /** The options for what was typed; called again at each key. */
  find: (query: string) => readonly Option[];
  /** What is said where nothing was found; null: the list stays closed. */
  nothing: (query: string) => string | null;
  onChoose: (option: Option) => void;
}

/** How far the list stays from the left edge of the window, in pixels. */
const EDGE = 8;

export function Combobox<Option extends ComboboxOption>({ label, listLabel, value, placeholder, kind, find, nothing, onChoose }: ComboboxProps<Option>) {
  const id = useId();
  const [query, setQuery] = useState<string | null>(null);
  const [active, setActive] = useState(0);
  const found = query === null ? [] : find(query);
  const place = Math.min(active, found.length - 1);
  const said = query !== null && found.length === 0 ? nothing(query) : null;
  const isOpen = query !== null && (found.length > 0 || said !== null);
  const list = useRef<HTMLUListElement>(null);
  // It ends where the field ends, and is wider: what would lie left of the page nobody could scroll to.
  useLayoutEffect(() => {
    const element = list.current;
    if (element === null || !isOpen) return;
    element.style.transform = "";
    const { left } = element.getBoundingClientRect();
    if (left < EDGE) element.style.transform = `translateX(${EDGE - left}px)`;
  }, [isOpen]);
  const close = () => setQuery(null);
  const choose = (option: Option | undefined) => {
    if (option === undefined) return;
    close();
    onChoose(option);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (query === null) setQuery("");
      else setActive((place + (event.key === "ArrowDown" ? 1 : found.length - 1)) % Math.max(found.length, 1));
    } else if (event.key === "Enter" && query !== null) choose(found[place]);
    else if (event.key === "Escape" && query !== null) close();
    else return;
    event.preventDefault();
  };
  return (
    <div class={`chooser ${kind}`}>
      <label for={`${id}-field`}>{label}</label>
      <input
        id={`${id}-field`} type="text" role="combobox" autocomplete="off" spellcheck={false}
        aria-expanded={isOpen} aria-controls={`${id}-list`} aria-autocomplete="list" {...(isOpen && place >= 0 ? { "aria-activedescendant": `${id}-${place}` } : {})}
        value={query ?? value} title={value} placeholder={placeholder}
        onFocus={({ currentTarget }) => currentTarget.select()}
        onClick={() => query === null && (setQuery(""), setActive(0))}
        onInput={({ currentTarget }) => (setQuery(currentTarget.value), setActive(0))}
        onBlur={close} onKeyDown={onKeyDown}
      />
      <ul ref={list} id={`${id}-list`} role="listbox" aria-label={listLabel} hidden={!isOpen}>
        {found.map((option, nth) => (
          <li
            key={option.key} id={`${id}-${nth}`} role="option" aria-selected={nth === place} title={option.title}
            ref={(element) => {
              if (nth === place) element?.scrollIntoView({ block: "nearest" });
            }}
            onPointerDown={(event) => event.button === 0 && event.preventDefault()} onClick={() => choose(option)}
          >
            {option.cells}
          </li>
        ))}
        {said !== null && <li role="option" aria-selected={false} aria-disabled={true} class="nothing">{said}</li>}
      </ul>
    </div>
  );
}
