import { beforeEach, expect, test } from "bun:test";
import {
  type Interpreter,
  openInterpreter,
} from "../../../src/sandbox/guest/python/interpreter.ts";
import type { CPython } from "../../../src/sandbox/guest/python/pyodide.ts";

/** How requests and replies pass through the heap of Python, and what is given back to it. */

const MODULE = 100;
const attributes: Record<string, number> = { answer: 101, restored: 102 };

/** The functions of CPython that an interpreter uses, with a heap in which nothing is moved. */
class FakePython implements CPython {
  HEAPU8 = new Uint8Array(1 << 12);
  readonly calls: [callable: number, content: string][] = [];
  /** Memory and bytes objects that are held, by address. */
  readonly memory = new Set<number>();
  readonly bytes = new Map<number, number>();
  printed = 0;
  reply: string | undefined = "reply";
  hasModule = true;
  #end = 1_000;

  _malloc(size: number): number {
    const address = this.#end;
    this.#end += size;
    this.memory.add(address);
    return address;
  }
  _free(address: number): void {
    expect(this.memory.delete(address)).toBe(true);
  }
  // Called without its object, as the function of C that it is.
  readonly _PyImport_ImportModule = (name: number): number => {
    expect(this.#name(name)).toBe("runner.prepare");
    return this.hasModule ? MODULE : 0;
  };
  _PyObject_GetAttrString(object: number, name: number): number {
    expect(object).toBe(MODULE);
    return attributes[this.#name(name)] ?? 0;
  }
  _PyObject_CallOneArg(callable: number, argument: number): number {
    this.calls.push([callable, this.content(argument)]);
    return this.reply === undefined ? 0 : this.#make(this.reply);
  }
  _PyBytes_FromStringAndSize(text: number, size: number): number {
    expect(text).toBe(0);
    return this.#make("?".repeat(size));
  }
  _PyBytes_AsString(bytes: number): number {
    expect(this.bytes.has(bytes)).toBe(true);
    return bytes;
  }
  _PyBytes_Size(bytes: number): number {
    return this.bytes.get(bytes)!;
  }
  _Py_DecRef(object: number): void {
    expect(this.bytes.delete(object)).toBe(true);
  }
  _PyErr_Print(): void {
    this.printed += 1;
  }

  content(bytes: number): string {
    return Buffer.from(this.HEAPU8.subarray(bytes, bytes + this.bytes.get(bytes)!)).toString();
  }
  #make(text: string): number {
    const address = this.#end;
    this.#end += text.length + 1;
    this.HEAPU8.set(Buffer.from(text), address);
    this.bytes.set(address, text.length);
    return address;
  }
  #name(address: number): string {
    const end = this.HEAPU8.indexOf(0, address);
    return Buffer.from(this.HEAPU8.subarray(address, end)).toString();
  }
}

let python: FakePython;
let isExhausted: boolean;
let signals: { 0: number }[];
beforeEach(() => {
  python = new FakePython();
  isExhausted = false;
  signals = [];
});

function opened(): Interpreter {
  const setSignalSource = (source: { 0: number }) => void signals.push(source);
  const exhausted = () => isExhausted;
  return openInterpreter({ python, setSignalSource, exhausted, provide() {} });
}

const ask = (interpreter: Interpreter, text: string) =>
  Buffer.from(interpreter.ask(Buffer.from(text), 1_000)).toString();

test("Python gets a call after its snapshot is restored, and a silent source of signals", () => {
  opened();
  expect(python.calls).toEqual([[attributes.restored!, ""]]);
  expect(signals.map((source) => source[0])).toEqual([0]);
  // Names are freed, and of all objects only the answer of this call is kept.
  expect([python.memory.size, python.bytes.size]).toEqual([0, 1]);
});

test("a reply is kept until the next request, and a request until its reply", () => {
  const interpreter = opened();
  const before = python.bytes.size;
  for (const text of ["one", "", "three"]) {
    python.reply = `reply to ${text}`;
    expect(ask(interpreter, text)).toBe(`reply to ${text}`);
    expect(python.calls.at(-1)).toEqual([attributes.answer!, text]);
    expect(python.bytes.size - before).toBe(1);
  }
  expect(python.printed).toBe(0);
});

test("an error of Python outside of user code is printed, and ends each request that meets it", () => {
  const interpreter = opened();
  const before = python.bytes.size;
  ask(interpreter, "good");
  python.reply = undefined;
  for (const printed of [1, 2]) {
    expect(() => ask(interpreter, "bad")).toThrow("Python raised outside of user code");
    expect([python.printed, python.bytes.size]).toEqual([printed, before]);
  }
  python.reply = "well";
  expect(ask(interpreter, "again")).toBe("well");
});

test("a reply after the heap has reached its limit is not believed", () => {
  const interpreter = opened();
  isExhausted = true;
  expect(() => ask(interpreter, "text")).toThrow("Memory of Python was at its limit");
});

test("a Python without its runner does not open", () => {
  python.hasModule = false;
  expect(opened).toThrow("Python raised outside of user code");
  expect([python.printed, python.memory.size]).toEqual([1, 0]);
});
