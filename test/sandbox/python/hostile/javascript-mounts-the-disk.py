# expect: "refused":true
# in: unsealed
import typing

load = typing.sys.modules["importlib"].import_module


def transformEvent(event, metadata):
    pyodide = load("pyodide_js")
    function = pyodide.runPython.constructor
    told = event["canary"]
    try:
        pyodide.FS.mkdir("/disk")
        options = function(f"return {{ root: '{told['directory']}' }}")()
        pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, options, "/disk")
        with typing.sys.modules["io"].open("/disk/canary") as file:
            return {"refused": False, "read": file.read()}
    except Exception:
        return {"refused": True}
