import { CpuClock } from "./cpu-clock.ts";
import type { CPython, RestoredPython } from "./pyodide.ts";

/** Maximum CPU time in milliseconds of a request that runs no user code. */
const BUDGET_MS_DEFAULT = 2_000;

export type Interpreter = ReturnType<typeof openInterpreter>;

/**
 * Opens an interpreter that calls the runner through CPython's C interface. Requests and replies
 * are bytes in Python's heap, because JavaScript objects would leave garbage, of which the
 * collector lets 200 MB accumulate.
 */
export function openInterpreter({ python, setSignalSource, exhausted }: RestoredPython) {
  const clock = new CpuClock();
  setSignalSource(clock);
  const imported = named(python, "runner.prepare", python._PyImport_ImportModule);
  const prepare = checked(python, imported);
  const answer = attribute(python, prepare, "answer");
  called(python, attribute(python, prepare, "restored"), new Uint8Array(0));
  let answered = 0;
  return {
    /**
     * Passes an encoded request, without its length field, to the runner (`runner/dispatch.py`) and
     * returns the encoded reply, which is valid until the next call. User code is stopped after
     * `budgetMs` of CPU time. Throws when Python has failed; the guest process is then unusable.
     */
    ask(question: Uint8Array, budgetMs = BUDGET_MS_DEFAULT): Uint8Array {
      if (answered !== 0) python._Py_DecRef(answered);
      answered = 0;
      answered = clock.limit(budgetMs, () => called(python, answer, question));
      if (exhausted()) throw new Error("Memory of Python was at its limit");
      return contentOf(python, answered);
    },
  };
}

/**
 * Calls a Python function with `bytes` as a bytes object. Returns the address of the result, which
 * is a bytes object too.
 */
function called(python: CPython, callable: number, bytes: Uint8Array): number {
  const argument = checked(python, python._PyBytes_FromStringAndSize(0, bytes.length));
  python.HEAPU8.set(bytes, python._PyBytes_AsString(argument));
  const result = python._PyObject_CallOneArg(callable, argument);
  python._Py_DecRef(argument);
  return checked(python, result);
}

/**
 * Returns a view of the content of the Python bytes object at the address `bytes`. The view is
 * valid until Python runs again.
 */
function contentOf(python: CPython, bytes: number): Uint8Array {
  const start = python._PyBytes_AsString(bytes);
  return python.HEAPU8.subarray(start, start + python._PyBytes_Size(bytes));
}

function attribute(python: CPython, object: number, name: string): number {
  const get = (address: number) => python._PyObject_GetAttrString(object, address);
  return checked(python, named(python, name, get));
}

/**
 * Copies `name` as a C string to Python's heap, and calls `call` with its address. Frees the string
 * after the call.
 */
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
  if (object !== 0) return object;
  python._PyErr_Print();
  throw new Error("Python raised outside of user code");
}
