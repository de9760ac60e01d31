# expect: "reached":"function
# in: unsealed
# JavaScript is always reachable from Pyodide: what counts is that nothing can be done with it.
import typing

load = typing.sys.modules["importlib"].import_module


def transformEvent(event, metadata):
    function = load("pyodide_js").runPython.constructor
    world = function("return globalThis")()
    return {"reached": str(world.Bun.spawn)[:40], "environment": str(world.JSON.stringify(world.process.env))}
