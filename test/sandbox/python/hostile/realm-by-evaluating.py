# expect: "made":\[\],"tried":1[0-9]
import typing

load = typing.sys.modules["importlib"].import_module
typing.sys.modules["__main__"] = typing
CODE = "globalThis.Bun.version"


def transformEvent(event, metadata):
    js = load("pyodide_js")
    to_js = load("pyodide.ffi").to_js
    url = to_js("data:text/javascript,globalThis.reached=1")
    attempts = (
        lambda: load("pyodide.code").run_js(CODE),
        lambda: load("js").eval(CODE),
        lambda: load("js").Function.new("return " + CODE)(),
        lambda: js.runPython.constructor("return " + CODE)(),
        lambda: js.runPython.constructor.constructor("return " + CODE)(),
        lambda: js.runPythonAsync.__proto__.constructor("return " + CODE)(),
        lambda: js.loadPackage.constructor.new("return " + CODE)(),
        lambda: to_js({}).constructor.constructor("return " + CODE)(),
        lambda: to_js([]).map.constructor("return " + CODE)(),
        lambda: geolocation.__globals__["ask"].constructor("return " + CODE)(),
        lambda: geolocation.__globals__["ask"].bind.constructor("return " + CODE)(),
        lambda: js._module.addFunction.constructor("return " + CODE)(),
        lambda: js._api.constructor.constructor("return " + CODE)(),
        lambda: js._module._emscripten_run_script.constructor("return " + CODE)(),
        lambda: js.ffi.PyProxy.constructor("return " + CODE)(),
    )
    made = []
    for index, attempt in enumerate(attempts):
        try:
            made.append([index, str(attempt())[:80]])
        except BaseException:
            pass
    return {"made": made, "tried": len(attempts)}
