# expect: "denied":\["os","sys","subprocess","socket","ctypes","js","pyodide","_pyodide","gc","builtins","importlib","posix","pickle","asyncio","threading","urllib\.request","runner","http\.client"\]
def transformEvent(event, metadata):
    denied = []
    for name in ("os sys subprocess socket ctypes js pyodide _pyodide gc builtins importlib posix "
                 "pickle asyncio threading urllib.request runner http.client").split():
        try:
            __import__(name)
        except ImportError:
            denied.append(name)
    return {"denied": denied}
