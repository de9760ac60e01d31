# expect: ^Script execution timed out|^Script crashed|^Script broke into
# in: unsealed
import typing

load = typing.sys.modules["importlib"].import_module


def transformEvent(event, metadata):
    function = load("pyodide_js").runPython.constructor
    function(
        """const write = process.getBuiltinModule('fs').writeSync;
        for (;;) { try { write(2, '\\u001b[31mforged line\\n'); } catch {} }"""
    )()
