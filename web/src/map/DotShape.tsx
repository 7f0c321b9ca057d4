// A dot's shape as it is drawn on the map, for legends and boxes.

const PATHS: Record<string, string> = {
  diamond: "M6 .5 11.5 6 6 11.5 .5 6Z",
  square: "M1.8 1.8h8.4v8.4H1.8Z",
  triangle: "M6 .8 11.4 10.6H.6Z",
  bar: "M4 .6h4v10.8H4Z",
  cross: "M4.5.5h3v4h4v3h-4v4h-3v-4h-4v-3h4Z",
  circle: "M6 1a5 5 0 1 1 0 10A5 5 0 1 1 6 1Z",
};

export function DotShape({ shape, colour }: { shape: string; colour: string }) {
  return (
    <svg class="dot-shape" width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">
      <path d={PATHS[shape] ?? PATHS["circle"] ?? ""} fill={colour} />
    </svg>
  );
}
