import { GUEST_ERROR_CHARS_MAX } from "../../limits.ts";
import type { UserError } from "../program.ts";

/** Names of a program's files in stack traces. No whitespace: a sourceURL ends there. */
export const MAIN_FILE = "pixelmill:transformation";
export const libraryFile = (index: number) => `pixelmill:library/${index}`;

/** What the user calls these files. */
export interface Labels {
  name: string;
  /** importNames by index. */
  libraries: readonly string[];
}

interface Place {
  caller: string;
  library?: string;
  line: number;
  column: number;
}

const FRAME =
  /^ {4}at (?:(?:async )?(.*) \()?(pixelmill:(?:transformation|library\/\d+)):(\d+):(\d+)\)?$/;
const FRAMES_START = "\n    at ";
const ENTRY_POINT = /^transform(?:Event|Batch)$/;

/**
 * An error that an event met: its first lines and the user's own frames, from where it was
 * thrown up to the entry point. `stack` is empty for what has none.
 */
export function eventError(message: string, stack: string, labels: Labels): UserError {
  const places = placesOf(stack, labels);
  const end = places.findIndex((place) => !place.library && ENTRY_POINT.test(place.caller));
  const shown = end < 0 ? places : places.slice(0, end + 1);
  const lines = shown.map((place) => `    at ${place.caller} (${label(place, labels)})`);
  return located([headOf(message, stack), ...lines].join("\n"), places[0]);
}

/** An error that kept the code from loading: its first lines, and where it is. */
export function loadError(message: string, stack: string, labels: Labels): UserError {
  return located(headOf(message, stack), placesOf(stack, labels)[0]);
}

/** A syntax error: `SyntaxError: Unexpected token ';' [My T:2:13]`. */
export function syntaxError(message: string, place: SyntaxPlace, labels: Labels): UserError {
  const where = label({ ...place, caller: "" }, labels);
  return located(`SyntaxError: ${message} [${where}]`, place);
}

export type SyntaxPlace = Omit<Place, "caller">;

function located(message: string, place: SyntaxPlace | undefined): UserError {
  const error: UserError = { message: message.slice(0, GUEST_ERROR_CHARS_MAX) };
  if (!place) return error;
  error.line = place.line;
  error.column = place.column;
  if (place.library !== undefined) error.library = place.library;
  return error;
}

function headOf(message: string, stack: string): string {
  const end = stack.indexOf(FRAMES_START);
  return (end < 0 ? stack : stack.slice(0, end)) || message;
}

function placesOf(stack: string, labels: Labels): Place[] {
  const places: Place[] = [];
  for (const line of stack.split("\n")) {
    const match = FRAME.exec(line);
    if (!match) continue;
    const [, caller, file, lineNumber, column] = match;
    const place: Place = {
      caller: caller ?? "<anonymous>",
      line: Number(lineNumber),
      column: Number(column),
    };
    if (file !== MAIN_FILE) place.library = labels.libraries[Number(file?.split("/")[1])] ?? "?";
    places.push(place);
  }
  return places;
}

function label(place: Place, labels: Labels): string {
  const file = place.library === undefined ? labels.name : `library ${place.library}`;
  return `${file}:${place.line}:${place.column}`;
}
