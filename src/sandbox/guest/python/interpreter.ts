import { CpuClock } from "./clock.ts";
import type { CPython, Restored } from "./pyodide.ts";

const NEWLINE = 10;
/** For questions that run no code of the user's. */
const BUDGET_MS_DEFAULT = 2_000;

const NOTHING = new Uint8Array(0);

export interface Answered {
  header: unknown;
  /** Good until the next question. */
  body: Buffer;
}

/** The harness inside Python (`harness/answer.py`). */
export interface Interpreter {
  /** Asks a question, with some CPU time. Throws when Python broke down: the guest is lost then. */
  ask(header: object, body?: Uint8Array, budgetMs?: number): Answered;
}

/**
 * Calls the harness through CPython's C interface. Questions and answers are bytes in Python's
 * heap: no JavaScript object ever enters it, no string is converted character by character, and
 * nothing large is left to the garbage collector, which lets 200 MB of it pile up.
 */
export function openInterpreter({ python, setSignalSource, exhausted }: Restored): Interpreter {
  const clock = new CpuClock();
  setSignalSource(clock);
  const prepare = imported(python, "harness.prepare");
  const answer = attribute(python, prepare, "answer");
  called(python, attribute(python, prepare, "restored"), NOTHING);
  let answered = 0;
  return {
    ask(header, body = NOTHING, budgetMs = BUDGET_MS_DEFAULT) {
      if (answered !== 0) python._Py_DecRef(answered);
      answered = 0;
      const line = Buffer.from(`${JSON.stringify(header)}\n`);
      answered = clock.limit(budgetMs, () => called(python, answer, line, body));
      if (exhausted()) throw new Error("Memory of Python was at its limit");
      const bytes = contentOf(python, answered);
      const newline = bytes.indexOf(NEWLINE);
      const end = newline < 0 ? bytes.length : newline;
      return { header: JSON.parse(bytes.toString("utf8", 0, end)), body: bytes.subarray(end + 1) };
    },
  };
}

/** Calls a function of one bytes object, made of parts; returns its result, a bytes object. */
function called(python: CPython, callable: number, ...parts: Uint8Array[]): number {
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  const argument = checked(python, python._PyBytes_FromStringAndSize(0, size));
  let address = python._PyBytes_AsString(argument);
  for (const part of parts) {
    python.HEAPU8.set(part, address);
    address += part.length;
  }
  const result = python._PyObject_CallOneArg(callable, argument);
  python._Py_DecRef(argument);
  return checked(python, result);
}

/** Python's own memory, not a copy: good until Python runs again. */
function contentOf(python: CPython, bytes: number): Buffer {
  const { buffer } = python.HEAPU8;
  return Buffer.from(buffer, python._PyBytes_AsString(bytes), python._PyBytes_Size(bytes));
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
