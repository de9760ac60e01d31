# expect: ^Script broke into its guest
# in: unsealed
import typing

load = typing.sys.modules["importlib"].import_module


def transformEvent(event, metadata):
    function = load("pyodide_js").runPython.constructor
    function(
        """const write = process.getBuiltinModule('fs').writeSync;
        for (;;) write(1, new Uint8Array(65536).fill(255));"""
    )()
