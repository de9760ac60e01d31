# expect: ^Script (was stopped at its memory limit|crashed its guest)|RangeError|Out of memory
import typing

load = typing.sys.modules["importlib"].import_module


def transformEvent(event, metadata):
    load("pyodide_js").runPython.constructor(
        "globalThis.hoard = []; for (;;) hoard.push(new Uint8Array(1 << 24).fill(1));"
    )()
