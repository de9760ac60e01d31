# expect: "errors":
# in: unsealed
import typing

load = typing.sys.modules["importlib"].import_module


def transformEvent(event, metadata):
    function = load("pyodide_js").runPython.constructor
    errors = []
    for source in (
        """const { dlopen } = process.getBuiltinModule('bun:ffi');
        const libc = dlopen('libc.so.6', { open: { args: ['cstring', 'int'], returns: 'int' } });
        return libc.symbols.open(Buffer.from('/etc/passwd\\0'), 0)""",
        """const { CFunction } = process.getBuiltinModule('bun:ffi');
        return String(CFunction)""",
    ):
        try:
            errors.append(str(function(source)()))
        except Exception as error:
            errors.append(str(error)[:200])
    return {"errors": errors}
