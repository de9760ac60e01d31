# expect: ^Script crashed its guest
# in: unsealed
import typing

load = typing.sys.modules["importlib"].import_module


def transformEvent(event, metadata):
    load("pyodide_js").runPython.constructor("process.exit(0)")()
