# expect: ^Script (was stopped|crashed its guest, most likely) at its memory limit
# in: unsealed
import typing

load = typing.sys.modules["importlib"].import_module


def transformEvent(event, metadata):
    load("pyodide_js").runPython.constructor(
        """globalThis.hoard = [];
        for (;;) {
          const memory = new WebAssembly.Memory({ initial: 1, maximum: 65536 });
          hoard.push(memory);
          memory.grow(1024);
          new Uint8Array(memory.buffer).fill(1);
        }"""
    )()
