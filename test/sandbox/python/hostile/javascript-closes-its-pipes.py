# expect: ^Script (crashed its guest|broke into its guest|execution timed out)
# in: unsealed
import typing

load = typing.sys.modules["importlib"].import_module


def transformEvent(event, metadata):
    function = load("pyodide_js").runPython.constructor
    function("for (let i = 0; i < 64; i++) try { process.getBuiltinModule('fs').closeSync(i) } catch {}")()
    return event
