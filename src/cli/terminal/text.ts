/**
 * Matches characters that could change what a terminal shows: control characters, characters that
 * set the direction of text, line separators, and unpaired surrogates.
 */
const UNSAFE = /[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]/gu;

/** Matches the characters of `UNSAFE` except line feed and tab. */
const UNSAFE_IN_LINES = /(?![\n\t])[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]/gu;

/**
 * Replaces characters that could change what a terminal shows by escapes such as `\u001b`. Every
 * command applies it to text from servers, destinations and user code before it prints the text.
 */
export function plain(text: string): string {
  return text.replace(UNSAFE, escaped);
}

/** Escapes like `plain`, but keeps line feeds and tabs. */
export function plainLines(text: string): string {
  return text.replace(UNSAFE_IN_LINES, escaped);
}

/** Formats a value as JSON. Escapes characters that could change what a terminal shows. */
export function jsonText(value: unknown, indent = 0): string {
  return plainLines(JSON.stringify(value, null, indent) ?? "null");
}

function escaped(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\t") return "\\t";
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Cuts a text to at most a number of terminal columns. A text that was cut ends with `…`. */
export function fit(text: string, columns: number): string {
  if (text.length <= columns / 2 || Bun.stringWidth(text) <= columns) return text;
  const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
  let cut = "";
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    width += Bun.stringWidth(segment);
    if (width > columns - 1) break;
    cut += segment;
  }
  return `${cut}…`;
}

/**
 * Pads a text with spaces to a number of terminal columns. `side` is the side on which the text
 * stands: with `left`, the spaces follow the text.
 */
export function pad(text: string, columns: number, side: "left" | "right" = "left"): string {
  const spaces = " ".repeat(Math.max(0, columns - Bun.stringWidth(text)));
  return side === "left" ? text + spaces : spaces + text;
}

/**
 * Breaks a text into lines of at most `room` terminal columns, at spaces where possible. Each line
 * has at least one character, even if `room` is too small for it.
 */
export function wrap(text: string, room: number): string[] {
  const columns = Math.max(1, room);
  if (text.length <= columns / 2 || Bun.stringWidth(text) <= columns) return [text];
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (Bun.stringWidth(longer) <= columns) {
      line = longer;
      continue;
    }
    if (line !== "") lines.push(line);
    line = word;
    while (Bun.stringWidth(line) > columns) {
      const [first = ""] = line;
      if (first === line) break;
      const part = fit(line, columns).slice(0, -1) || first;
      lines.push(part);
      line = line.slice(part.length);
    }
  }
  return [...lines, line];
}
