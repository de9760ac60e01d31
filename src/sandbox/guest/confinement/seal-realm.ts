import { writeSync } from "node:fs";
import { isNativeError } from "node:util/types";

/**
 * Seals the guest's own realm, in which `node:vm` and Python's WebAssembly run, around the realm of
 * user code. The engine leaks objects of it into user code (an error at a full stack), and so may a
 * mistake of ours. Sealed, such an object is useless: no function leads to a constructor of code, no
 * prototype can be changed, and the global object has no access to the system.
 */

/** Built-ins whose prototype is frozen. `Function` is replaced instead, since it compiles code. */
const language = `
  Object Array Iterator String Boolean Number BigInt Symbol RegExp Date Promise
  Error EvalError RangeError ReferenceError SyntaxError TypeError URIError AggregateError
  SuppressedError DisposableStack AsyncDisposableStack
  Map Set WeakMap WeakSet WeakRef FinalizationRegistry ArrayBuffer DataView
  Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array
  Float16Array Float32Array Float64Array BigInt64Array BigUint64Array Buffer
`;

const collections = "JSON Math Reflect";

/**
 * Properties of the global object that compile code, start threads, open connections, print, or
 * wait for input.
 */
const powers = `
  eval Worker ShadowRealm fetch WebSocket EventSource BroadcastChannel MessageChannel
  HTMLRewriter console reportError alert confirm prompt require
`;

/** Properties of `Bun`, which cannot be deleted itself: system calls, programs, files, sockets. */
const powersOfBun = `
  FFI spawn spawnSync Terminal file write mmap build unsafe listen connect serve udpSocket
  generateHeapSnapshot inspect
`;

const STDERR = 2;

const prototypeOf = Object.getPrototypeOf as (value: object) => object;

/**
 * Seals the guest's realm for good, before user code is read. Modules must take what they need from
 * it earlier.
 */
export function sealRealm(): void {
  printUncaughtSafely();
  removeFunctionConstructors();
  freezeLanguage();
  define("process", processWithoutPower());
  for (const name of names(powersOfBun)) Reflect.defineProperty(Bun, name, { value: refuse });
  for (const name of names(powers)) define(name, undefined);
}

/** Prints an uncaught value without running code of it, which Bun would do. */
function printUncaughtSafely(): void {
  const { exit } = process;
  process.on("uncaughtException", (thrown: unknown) => {
    writeSync(STDERR, `${shown(thrown)}\n`);
    exit(1);
  });
}

/** Shows a thrown value without running any of its code: a property with a getter is not shown. */
function shown(thrown: unknown): string {
  if (!isNativeError(thrown)) return "A value was thrown that is no error";
  return `${Reflect.getOwnPropertyDescriptor(thrown, "stack")?.value}`;
}

/** Removes the constructors of the four kinds of functions, which every function inherits. */
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

/** Stands in for `Function`, for `instanceof` and for its prototype's functions. */
function NoFunction(): never {
  throw new EvalError("Code generation from strings is not allowed");
}

function freezeLanguage(): void {
  // The function would be handed the functions on the stack.
  Object.defineProperty(Error, "prepareStackTrace", { value: undefined });
  const iterators = [[].values(), "".matchAll(/a/g), new Map().keys(), new Set().keys()];
  for (const iterator of iterators) Object.freeze(prototypeOf(iterator));
  Object.freeze(prototypeOf(Uint8Array));
  Object.freeze(prototypeOf(Uint8Array.prototype));
  for (const name of names(language)) {
    const kind = Reflect.get(globalThis, name);
    Object.freeze(kind);
    Object.freeze(kind.prototype);
  }
  for (const name of names(collections)) Object.freeze(Reflect.get(globalThis, name));
}

/**
 * A `process` with the properties that Bun's own modules read when a call fails; without them those
 * modules would fail.
 */
function processWithoutPower(): object {
  const { arch, platform, version, nextTick } = process;
  return { arch, platform, version, nextTick, env: {}, argv: [], cwd: () => "/" };
}

/** Refuses as the system would, which Bun's modules turn into an error. */
function refuse(): never {
  throw Object.assign(new Error("Operation not permitted"), { code: "EPERM" });
}

function define(name: string, value: unknown): void {
  Object.defineProperty(globalThis, name, { value, writable: false, configurable: false });
}

function names(list: string): string[] {
  return list.trim().split(/\s+/);
}
