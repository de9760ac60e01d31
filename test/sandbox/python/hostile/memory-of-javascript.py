# expect: ^Script (was stopped|crashed its guest, most likely) at its memory limit
# in: unsealed
import typing

load = typing.sys.modules["importlib"].import_module


def transformEvent(event, metadata):
    load("pyodide_js").runPython.constructor(
        "globalThis.hoard = []; for (;;) hoard.push(new Uint8Array(1 << 24).fill(1));"
    )()
