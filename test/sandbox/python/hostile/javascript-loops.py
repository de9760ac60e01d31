# expect: ^Script execution timed out\.$
# in: unsealed
import typing

load = typing.sys.modules["importlib"].import_module


def transformEvent(event, metadata):
    load("pyodide_js").runPython.constructor("for (;;);")()
