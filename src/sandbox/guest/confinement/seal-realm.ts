import { writeSync } from "node:fs";
import { isNativeError } from "node:util/types";

// Seals the guest's own realm (its global object and built-ins), in which `node:vm` and Python's
// WebAssembly run. User code runs in another realm inside it. But the engine leaks objects of the
// guest's realm to user code (an error when the stack is full), and a defect of this code may do so
// too. After the sealing such an object is useless: no function leads to a constructor of code, no
// prototype can be changed, and the global object has no access to the system.

/**
 * Names of JavaScript's built-in objects that are frozen together with their prototypes. `Function`
 * is missing here: it is replaced, since it compiles code.
 */
const languageNames = `
  Object Array Iterator String Boolean Number BigInt Symbol RegExp Date Promise
  Error EvalError RangeError ReferenceError SyntaxError TypeError URIError AggregateError
  SuppressedError DisposableStack AsyncDisposableStack
  Map Set WeakMap WeakSet WeakRef FinalizationRegistry ArrayBuffer DataView
  Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array
  Float16Array Float32Array Float64Array BigInt64Array BigUint64Array Buffer
`;

const collections = "JSON Math Reflect";

/**
 * Names of the properties that are removed from the global object. Most of them compile code, start
 * threads, open connections, print, or wait for input. The others are unused, and freezing them
 * would take longer than the rest of the sealing.
 */
const powerNames = `
  Intl Temporal Atomics SharedArrayBuffer
  eval Worker ShadowRealm fetch WebSocket EventSource BroadcastChannel MessageChannel
  HTMLRewriter console reportError alert confirm prompt require
`;

/**
 * Names of the properties of `Bun` that are replaced by a function that throws, because they make
 * system calls, start programs, or open files and sockets. `Bun` itself cannot be deleted.
 */
const bunPowerNames = `
  FFI spawn spawnSync Terminal file write mmap build unsafe listen connect serve udpSocket
  generateHeapSnapshot inspect
`;

const STDERR = 2;

const prototypeOf = Object.getPrototypeOf as (value: object) => object;

/**
 * Permanently removes or freezes the built-in objects of the guest process that user code could
 * misuse. Must be called before user code arrives. Modules of the process must store the built-ins
 * that they need before this call.
 */
export function sealRealm(): void {
  printUncaughtSafely();
  removeFunctionConstructors();
  freezeLanguage();
  define("process", processWithoutPower());
  for (const name of names(bunPowerNames)) Reflect.defineProperty(Bun, name, { value: refuse });
  for (const name of names(powerNames)) define(name, undefined);
}

/**
 * Installs a handler that prints an uncaught value and ends the process. It does not run any code
 * of the value, such as a getter; Bun's own handler would.
 */
function printUncaughtSafely(): void {
  const { exit } = process;
  process.on("uncaughtException", (thrown: unknown) => {
    writeSync(STDERR, `${shown(thrown)}\n`);
    exit(1);
  });
}

/**
 * Returns a thrown value as text without running any code of the value. A property with a getter is
 * not read.
 */
function shown(thrown: unknown): string {
  if (!isNativeError(thrown)) return "A value was thrown that is no error";
  return `${Reflect.getOwnPropertyDescriptor(thrown, "stack")?.value}`;
}

/**
 * Replaces the global `Function` by a function that throws. Deletes the property `constructor` that
 * functions of the four kinds (plain, async, generator, async generator) inherit, because the value
 * of this property compiles code.
 */
function removeFunctionConstructors(): void {
  NoFunction.prototype = Function.prototype;
  define("Function", Object.freeze(NoFunction));
  const kinds = [() => {}, async () => {}, function* () {}, async function* () {}];
  for (const kind of kinds) {
    const prototype = prototypeOf(kind) as { constructor?: unknown; prototype?: object };
    delete prototype.constructor;
    Object.freeze(prototype);
    // The prototypes of generators and of all iterators.
    if (prototype.prototype) {
      Object.freeze(prototype.prototype);
      Object.freeze(prototypeOf(prototype.prototype));
    }
  }
}

/**
 * Replacement for `Function`, which compiles code. The replacement throws when it is called, but
 * `instanceof Function` and the methods of `Function.prototype` keep working.
 */
function NoFunction(): never {
  throw new EvalError("Code generation from strings is not allowed");
}

function freezeLanguage(): void {
  // The runtime would pass the functions on the stack to a `prepareStackTrace` that user code sets.
  Object.defineProperty(Error, "prepareStackTrace", { value: undefined });
  const iterators = [
    ...[[].values(), ""[Symbol.iterator](), "".matchAll(/a/g), new Map().keys(), new Set().keys()],
    ...[[].values().drop(0), Iterator.from({ next: () => ({ done: true, value: undefined }) })],
  ];
  for (const iterator of iterators) Object.freeze(prototypeOf(iterator));
  Object.freeze(prototypeOf(Uint8Array));
  Object.freeze(prototypeOf(Uint8Array.prototype));
  for (const name of names(languageNames)) {
    const kind = Reflect.get(globalThis, name);
    Object.freeze(kind);
    Object.freeze(kind.prototype);
  }
  for (const name of names(collections)) Object.freeze(Reflect.get(globalThis, name));
}

/**
 * Creates a `process` object that has only the properties that Bun's own modules read when one of
 * their calls fails. Without these properties the modules would throw other errors.
 */
function processWithoutPower(): object {
  const { arch, platform, version, nextTick } = process;
  return { arch, platform, version, nextTick, env: {}, argv: [], cwd: () => "/" };
}

/** Throws the error that Bun's modules expect when a system call is refused (EPERM). */
function refuse(): never {
  throw Object.assign(new Error("Operation not permitted"), { code: "EPERM" });
}

function define(name: string, value: unknown): void {
  Object.defineProperty(globalThis, name, { value, writable: false, configurable: false });
}

function names(list: string): string[] {
  return list.trim().split(/\s+/);
}
