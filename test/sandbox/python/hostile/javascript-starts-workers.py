# expect: "workers":\d|^Script
# in: unsealed
import typing

load = typing.sys.modules["importlib"].import_module


def transformEvent(event, metadata):
    function = load("pyodide_js").runPython.constructor
    source = "for (;;);"
    workers = 0
    for _ in range(8):
        try:
            function(f"new Worker('data:text/javascript,{source}')")()
            workers += 1
        except Exception:
            pass
    return {"workers": workers}
