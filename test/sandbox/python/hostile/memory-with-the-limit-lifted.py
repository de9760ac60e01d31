# expect: ^Script (was stopped|crashed its guest, most likely) at its memory limit
# in: unsealed
import typing

load = typing.sys.modules["importlib"].import_module


def transformEvent(event, metadata):
    module = load("pyodide_js")._module
    module.memory.grow = load("pyodide_js").runPython.constructor(
        "pages", "return WebAssembly.Memory.prototype.grow.call(this, pages)"
    )
    hoard = []
    while True:
        hoard.append(bytearray(b"x") * 10_000_000)
