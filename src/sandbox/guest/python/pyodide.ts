import { dirname } from "node:path";
import { loadPyodide } from "pyodide";
import createModule from "pyodide/pyodide.asm.mjs";
import wasmPath from "pyodide/pyodide.asm.wasm" with { type: "file" };
import standardLibraryPath from "pyodide/python_stdlib.zip" with { type: "file" };
import { GUEST_PYTHON_HEAP_BYTES_MAX } from "../../../settings/limits.ts";

export type Pyodide = Awaited<ReturnType<typeof loadPyodide>>;
type Options = NonNullable<Parameters<typeof loadPyodide>[0]>;

/**
 * Functions of CPython's C interface and of Emscripten that Pyodide's WebAssembly module exports.
 * Numbers are addresses in Python's heap, or sizes in bytes.
 */
export interface CPython {
  HEAPU8: Uint8Array;
  _malloc(size: number): number;
  _free(address: number): void;
  _PyImport_ImportModule(name: number): number;
  _PyObject_GetAttrString(object: number, name: number): number;
  _PyObject_CallOneArg(callable: number, argument: number): number;
  _PyBytes_FromStringAndSize(text: number, size: number): number;
  _PyBytes_AsString(bytes: number): number;
  _PyBytes_Size(bytes: number): number;
  _Py_DecRef(object: number): void;
  _PyErr_Print(): void;
}

export type RestoredPython = Awaited<ReturnType<typeof restore>>;

const WASM_PAGE_BYTES = 65_536;
/**
 * Length in bytes of the header that precedes the heap in a snapshot. It is constant only while the
 * heap refers to no JavaScript objects, because the header describes them.
 */
const SNAPSHOT_HEADER_BYTES = 128;

/** Seed from which Python derives the secret of its function `hash`. */
const HASH_SEED = "1";

const ABI = { abi_version: "2026_0" };

const options: Options = {
  indexURL: dirname(wasmPath),
  stdLibURL: standardLibraryPath,
  // There are no packages to load. Pyodide compares the ABI with its own.
  lockFileContents: {
    info: { arch: "wasm32", platform: "none", version: "none", python: "none", ...ABI },
    packages: {},
  } as unknown as NonNullable<Options["lockFileContents"]>,
  // Without this, Python's environment has the path of the script that the process runs.
  _sysExecutable: "python",
  // `import js` finds nothing.
  jsglobals: {},
  // The process's own standard streams are the pipes to the host.
  stdin: () => null,
  stdout: () => {},
  stderr: () => {},
};

/**
 * Loads a new interpreter whose memory can be stored as a snapshot. The secret of Python's `hash`
 * is constant, because everybody could read a random one in the executable, which contains the
 * snapshot.
 */
export function loadForSnapshot(): Promise<Pyodide> {
  const env = { HOME: "/home/pyodide", PYTHONHASHSEED: HASH_SEED };
  return loadPyodide({ ...options, env, _makeSnapshot: true });
}

/**
 * Loads an interpreter in the state of a snapshot, which must have been made by this build of
 * Pyodide. `compressed` is decompressed in another thread while the engine compiles Pyodide.
 */
export async function restore(compressed: Uint8Array) {
  let exhausted = false;
  let decompressed: Promise<Uint8Array> | undefined = Bun.zstdDecompress(compressed);
  const pyodide = await loadPyodide({
    ...options,
    // Pyodide would wait for the snapshot before it compiles, so it gets the snapshot afterwards.
    _loadSnapshot: new Uint8Array(0),
    async createPyodideModule(settings) {
      const [module, snapshot] = await Promise.all([createModule(settings), decompressed!]);
      // Nothing may refer to the 38 MB of the snapshot once it is in the heap.
      decompressed = undefined;
      provideSnapshot((settings as unknown as { API: SnapshotApi }).API, snapshot);
      const heap = module as unknown as Heap;
      limitMemory(heap.memory, () => {
        exhausted = true;
      });
      heap.growMemory(snapshot.length - SNAPSHOT_HEADER_BYTES);
      return module;
    },
  });
  return {
    python: (pyodide as unknown as { _module: CPython })._module,
    /** Sets the object whose element 0 CPython reads as the number of a pending signal. */
    setSignalSource: (source: { 0: number }) =>
      pyodide.setInterruptBuffer(source as unknown as Uint8Array),
    /** Defines a function in a Python module. It takes a string and returns a string. */
    provide(module: string, name: string, call: (text: string) => string): void {
      const proxy = pyodide.pyimport(module);
      proxy[name] = call;
      proxy.destroy();
    },
    /** Whether the heap has ever reached its limit. If so, its objects may be broken. */
    exhausted: () => exhausted,
  };
}

interface SnapshotApi {
  /** Copies a snapshot into the heap. Pyodide calls this function once, while it loads. */
  restoreSnapshot(snapshot: Uint8Array): unknown;
}

/** Makes Pyodide restore `snapshot` instead of the (empty) snapshot in its options. */
function provideSnapshot(api: SnapshotApi, snapshot: Uint8Array): void {
  const { restoreSnapshot } = api;
  api.restoreSnapshot = () => {
    api.restoreSnapshot = restoreSnapshot;
    return restoreSnapshot(snapshot);
  };
}

interface Heap {
  memory: WebAssembly.Memory;
  /** Grows Python's memory to `bytes`: a snapshot may be larger than the initial memory. */
  growMemory(bytes: number): void;
}

/**
 * Limits the size of Python's heap, and calls `onLimit` when the heap reaches the limit. After that
 * the interpreter must not be used, because a MemoryError may leave objects broken (in Pyodide
 * 314.0.7, `s += s` left a str without a type).
 */
function limitMemory(memory: WebAssembly.Memory, onLimit: () => void): void {
  const grow = memory.grow.bind(memory);
  memory.grow = (pages) => {
    if (memory.buffer.byteLength + pages * WASM_PAGE_BYTES > GUEST_PYTHON_HEAP_BYTES_MAX) {
      onLimit();
      throw new RangeError("Memory of Python is at its limit");
    }
    try {
      return grow(pages);
    } catch (error) {
      onLimit();
      throw error;
    }
  };
}
