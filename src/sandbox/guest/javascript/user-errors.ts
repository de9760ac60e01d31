import { GUEST_ERROR_CHARS_MAX } from "../../../settings/limits.ts";
import { GUEST_ERRORS_CHARS_MAX } from "../../guest-limits.ts";
import type { UserError } from "../../program.ts";
import { toV8Column, toV8Message } from "./v8-messages.ts";

/**
 * Name of the transformation's file in stack traces. Such file names must not contain whitespace,
 * because a name in a `sourceURL` comment ends at the first whitespace.
 */
export const MAIN_FILE = "pixelmill:transformation";
export const libraryFile = (index: number) => `pixelmill:library/${index}`;

/**
 * Files of a program, by their names in stack traces. The transformation's file has the name
 * `MAIN_FILE`, a library's file the result of `libraryFile`.
 */
export type ProgramFiles = ReadonlyMap<string, SourceFile>;

export interface SourceFile {
  /**
   * Name by which error messages refer to the file. For the transformation this is its name; for a
   * library it is the word `library` and the name with which code imports it.
   */
  label: string;
  /** Name with which code imports the library (its importName); absent for the transformation. */
  library?: string;
  code: string;
}

export function filesOf(
  name: string,
  code: string,
  libraries: readonly { importName: string; code: string }[],
): ProgramFiles {
  const files = new Map<string, SourceFile>([[MAIN_FILE, { label: name, code }]]);
  for (const [index, library] of libraries.entries()) {
    files.set(libraryFile(index), libraryOf(library.importName, library.code));
  }
  return files;
}

export function libraryOf(importName: string, code: string): SourceFile {
  return { label: `library ${importName}`, library: importName, code };
}

type SourcePosition = ReturnType<typeof placeIn>;

const FRAME =
  /^ {4}at (?:(?:async )?(.*) \()?(pixelmill:(?:transformation|library\/\d+)):(\d+):(\d+)\)?$/;
const FRAMES_START = "\n    at ";
const ENTRY_POINT = /^transform(?:Event|Batch)$/;

/**
 * Describes an error that an event has caused: the first lines of its message, and the stack frames
 * in the user's files up to the entry point. Pass an empty `stack` when the thrown value has none.
 */
export function eventError(message: string, stack: string, files: ProgramFiles): UserError {
  const lines = [headOf(message, stack)];
  let top: SourcePosition | undefined;
  for (const line of stack.split("\n")) {
    const [, caller = "<anonymous>", name = "", lineNumber, column] = FRAME.exec(line) ?? [];
    const file = files.get(name);
    if (!file) continue;
    const place = placeIn(file, Number(lineNumber), Number(column));
    top ??= place;
    lines.push(`    at ${caller} (${shown(place)})`);
    if (!file.library && ENTRY_POINT.test(caller)) break;
  }
  return located(lines.join("\n"), top);
}

/**
 * Describes an error that keeps code from loading: the first lines of its message, and its
 * position.
 */
export function loadError(message: string, stack: string, files: ProgramFiles): UserError {
  return { ...eventError(message, stack, files), message: headOf(message, stack) };
}

/** Describes a syntax error, such as `SyntaxError: Unexpected token ';' [My T:2:13]`. */
export function syntaxError(
  message: string,
  file: SourceFile,
  line: number,
  column: number,
): UserError {
  const place = { file, line, column };
  return located(`SyntaxError: ${toV8Message(message)} [${shown(place)}]`, place);
}

/**
 * Returns the line and the library of the first stack frame in the user's files; an empty object
 * when there is no such frame.
 */
export function callerIn(stack: string, files: ProgramFiles): { line?: number; library?: string } {
  for (const frame of stack.split("\n")) {
    const [, , name = "", line] = FRAME.exec(frame) ?? [];
    const file = files.get(name);
    if (file === undefined) continue;
    return { line: Number(line), ...(file.library !== undefined && { library: file.library }) };
  }
  return {};
}

function headOf(message: string, stack: string): string {
  const end = stack.indexOf(FRAMES_START);
  return toV8Message((end < 0 ? stack : stack.slice(0, end)) || message);
}

function located(message: string, place: SourcePosition | undefined): UserError {
  const error: UserError = { message: cut(message) };
  if (!place) return error;
  error.line = place.line;
  error.column = place.column;
  if (place.file.library !== undefined) error.library = place.file.library;
  return error;
}

/** Cuts a text to the length that the server accepts for an error message. */
export function cut(message: string): string {
  return message.slice(0, GUEST_ERROR_CHARS_MAX);
}

/**
 * Length in UTF-16 units to which error messages are cut once the errors of a reply together exceed
 * `GUEST_ERRORS_CHARS_MAX`.
 */
const SHORT_CHARS = 100;

/**
 * Limits the total size of the errors of one reply. The error whose JSON makes the total exceed
 * `GUEST_ERRORS_CHARS_MAX` UTF-16 units, and each later error, has a message cut to `SHORT_CHARS`
 * and no `library`.
 */
export function shortened(errors: readonly UserError[]): UserError[] {
  let chars = 0;
  return errors.map(({ library, ...error }) => {
    const whole = library === undefined ? error : { ...error, library };
    chars += JSON.stringify(whole).length;
    if (chars <= GUEST_ERRORS_CHARS_MAX) return whole;
    return { ...error, message: error.message.slice(0, SHORT_CHARS) };
  });
}

function shown({ file, line, column }: SourcePosition): string {
  return `${file.label}:${line}:${column}`;
}

const lines = new WeakMap<SourceFile, string[]>();

function placeIn(file: SourceFile, line: number, column: number) {
  const split = lines.getOrInsertComputed(file, () => file.code.split("\n"));
  return { file, line, column: toV8Column(split[line - 1] ?? "", column) };
}
