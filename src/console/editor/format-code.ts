import * as estree from "prettier/plugins/estree";
import * as meriyah from "prettier/plugins/meriyah";
import { format } from "prettier/standalone";

/** Syntax error because of which code cannot be formatted. `line` and `column` count from 1. */
export interface FormatError {
  line: number;
  column: number;
  message: string;
}

/** Formats JavaScript in Prettier's default style. Returns a `FormatError` for invalid syntax. */
export async function formatJavaScript(code: string): Promise<string | FormatError> {
  try {
    return await format(code, { parser: "meriyah", plugins: [meriyah, estree] });
  } catch (error) {
    const { loc } = error as { loc?: { start?: Omit<FormatError, "message"> } };
    if (loc?.start === undefined) throw error;
    return { ...loc.start, message: withoutExcerpt((error as Error).message) };
  }
}

/** Returns Prettier's error message without the position and the code excerpt at its end. */
const withoutExcerpt = (message: string) => message.replace(/ \(\d+:\d+\)(\n.*)?$/s, "");
