# expect: ^Script execution timed out\.$
# spoils: the guest of its workspace
import typing

load = typing.sys.modules["importlib"].import_module


def transformEvent(event, metadata):
    load("pyodide_js").setInterruptBuffer(None)
    while True:
        pass
