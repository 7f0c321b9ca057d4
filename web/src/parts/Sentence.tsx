// A sentence of ours or of the recorder: what stands between backquotes is a command or a name.

import { visible } from "../names";

export function Sentence({ text }: { text: string }) {
  const parts = visible(text).split("`");
  // An odd backquote belongs to a name.
  if (parts.length % 2 === 0) return <>{visible(text)}</>;
  return <>{parts.map((part, place) => (place % 2 === 1 ? <code key={place}>{part}</code> : part))}</>;
}
