# expect: "escaped":\[\],"worlds":\[\],"looked":60
import typing

load = typing.sys.modules["importlib"].import_module
typing.sys.modules["__main__"] = typing
CODE = "return globalThis"


def roots():
    for name in ("pyodide_js", "js", "_pyodide_core", "pyodide.ffi", "pyodide.code"):
        try:
            yield name, load(name)
        except BaseException:
            pass
    ask = geolocation.__globals__["ask"]
    yield "ask", ask.__proto__
    to_js = load("pyodide.ffi").to_js
    for value in ({}, [1], b"x", {"a": {"b": [1]}}, lambda: 1, object()):
        try:
            yield f"to_js {type(value).__name__}", to_js(value, pyproxies=load("pyodide_js").runPython and None)
        except BaseException:
            try:
                yield f"proxy {type(value).__name__}", load("pyodide.ffi").create_proxy(value)
            except BaseException:
                pass
    try:
        load("pyodide_js").runPython(1, 2, 3)
    except BaseException as error:
        yield "error", error
        yield "js_error", getattr(error, "js_error", None)


def transformEvent(event, metadata):
    JsProxy = load("pyodide.ffi").JsProxy
    seen = {}
    escaped = []
    worlds = []
    queue = list(roots())
    makers = 0

    while queue and len(seen) < 60:
        name, one = queue.pop(0)
        if not isinstance(one, JsProxy):
            if hasattr(one, "__dict__") and not isinstance(one, type) and len(name) < 40:
                queue.extend((f"{name}.{k}", v) for k, v in list(vars(one).items()) if isinstance(v, JsProxy))
            continue
        key = getattr(one, "js_id", id(one))
        if key in seen:
            continue
        seen[key] = name
        if len(name) > 120:
            continue
        for path in (("constructor",), ("constructor", "constructor"), ("__proto__", "constructor"), ("__proto__", "__proto__", "constructor")):
            try:
                maker = one
                for step in path:
                    maker = getattr(maker, step)
                makers += 1
                for make in (lambda: maker(CODE)(), lambda: maker.new(CODE)()):
                    try:
                        world = make()
                        if hasattr(world, "Bun") or hasattr(world, "process"):
                            escaped.append(name + "." + ".".join(path))
                    except BaseException:
                        pass
            except BaseException:
                pass
        try:
            names = dir(one)
        except BaseException:
            names = []
        if "Bun" in names or "process" in names:
            worlds.append(name)
        for attribute in names:
            try:
                value = getattr(one, attribute)
            except BaseException:
                continue
            if isinstance(value, JsProxy):
                queue.append((f"{name}.{attribute}", value))
    return {"escaped": sorted(set(escaped))[:20], "worlds": worlds[:20], "looked": len(seen), "makers": makers}
