// Names out of a trace as they are shown. They were chosen by others: characters that show nothing, and those that turn the direction of writing
// round would let one name look like another, so they are written out.

/** Control characters, ends of lines and paragraphs, and what shows nothing or changes the direction of what follows (Unicode Standard Annex 9). */
const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu;

/** Text with what cannot be seen written as \u{...}. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** The last part of a path. */
export function baseName(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return visible(name === "" ? path : name);
}

/** Text that was cut off, without half a character at its end: those beyond U+FFFF have two units. */
export function wholeCharacters(text: string): string {
  return /[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text;
}

/** The first characters, and an ellipsis if there are more. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${wholeCharacters(text.slice(0, most - 1))}…`;
}

/** A command line for people, words with spaces in quotes. */
export function commandLine(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${visible(word).replaceAll("'", "'\\''")}'`)).join(" ");
}
