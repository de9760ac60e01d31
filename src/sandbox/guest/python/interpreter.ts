import { CpuClock } from "./clock.ts";
import type { CPython, Restored } from "./pyodide.ts";

const NEWLINE = 10;
/** For questions that run no code of the user's. */
const BUDGET_MS_DEFAULT = 2_000;

export interface Answered {
  header: unknown;
  body: Buffer;
}

/** The harness inside Python (`harness/answer.py`). */
export interface Interpreter {
  /** Asks a question, with some CPU time. Throws when Python broke down: the guest is lost then. */
  ask(header: object, body?: Uint8Array, budgetMs?: number): Answered;
}

/**
 * Calls the harness through CPython's C interface. Questions and answers are bytes in Python's
 * heap: no JavaScript object ever enters it, and no string is converted character by character.
 */
export function openInterpreter({ python, setSignalSource, exhausted }: Restored): Interpreter {
  const clock = new CpuClock();
  setSignalSource(clock);
  const prepare = imported(python, "harness.prepare");
  const answer = attribute(python, prepare, "answer");
  called(python, attribute(python, prepare, "restored"), Buffer.alloc(0));
  return {
    ask(header, body = Buffer.alloc(0), budgetMs = BUDGET_MS_DEFAULT) {
      const question = Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body]);
      const bytes = clock.limit(budgetMs, () => called(python, answer, question));
      if (exhausted()) throw new Error("Memory of Python was at its limit");
      const newline = bytes.indexOf(NEWLINE);
      const end = newline < 0 ? bytes.length : newline;
      return { header: JSON.parse(bytes.toString("utf8", 0, end)), body: bytes.subarray(end + 1) };
    },
  };
}

/** Calls a function of one bytes object that answers one. */
function called(python: CPython, callable: number, input: Uint8Array): Buffer {
  const argument = python._PyBytes_FromStringAndSize(0, input.length);
  if (argument === 0) throw raised(python);
  python.HEAPU8.set(input, python._PyBytes_AsString(argument));
  const result = python._PyObject_CallOneArg(callable, argument);
  python._Py_DecRef(argument);
  if (result === 0) throw raised(python);
  const start = python._PyBytes_AsString(result);
  const bytes = python.HEAPU8.slice(start, start + python._PyBytes_Size(result));
  python._Py_DecRef(result);
  return Buffer.from(bytes.buffer);
}

function imported(python: CPython, name: string): number {
  return checked(python, named(python, name, python._PyImport_ImportModule));
}

function attribute(python: CPython, object: number, name: string): number {
  const get = (address: number) => python._PyObject_GetAttrString(object, address);
  return checked(python, named(python, name, get));
}

/** Calls with a C string. */
function named<T>(python: CPython, name: string, call: (address: number) => T): T {
  const bytes = Buffer.from(`${name}\0`);
  const address = python._malloc(bytes.length);
  python.HEAPU8.set(bytes, address);
  try {
    return call(address);
  } finally {
    python._free(address);
  }
}

function checked(python: CPython, object: number): number {
  if (object === 0) throw raised(python);
  return object;
}

function raised(python: CPython): Error {
  python._PyErr_Print();
  return new Error("Python raised outside of user code");
}
