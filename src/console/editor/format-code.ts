import * as estree from "prettier/plugins/estree";
import * as meriyah from "prettier/plugins/meriyah";
import { format } from "prettier/standalone";

/** Syntax error that prevents formatting. Line and column count from 1. */
export interface FormatError {
  line: number;
  column: number;
  message: string;
}

/** Formats JavaScript with Prettier's default style. Code with a syntax error is not formatted. */
export async function formatJavaScript(code: string): Promise<string | FormatError> {
  try {
    return await format(code, { parser: "meriyah", plugins: [meriyah, estree] });
  } catch (error) {
    const start = positionOf(error);
    if (start === undefined) throw error;
    return { ...start, message: withoutExcerpt((error as Error).message) };
  }
}

function positionOf(error: unknown): { line: number; column: number } | undefined {
  return (error as { loc?: { start?: { line: number; column: number } } }).loc?.start;
}

/** Removes the position and the excerpt of the code, which Prettier appends to a message. */
const withoutExcerpt = (message: string) => message.replace(/ \(\d+:\d+\)(\n.*)?$/s, "");
