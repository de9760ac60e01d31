# expect: "refused":\d*[4-9]
# in: unsealed
import typing

load = typing.sys.modules["importlib"].import_module


def transformEvent(event, metadata):
    function = load("pyodide_js").runPython.constructor
    told = event["canary"]
    refused = 0
    read = []
    for source in (
        f"require('fs').readFileSync('{told['file']}', 'utf8')",
        f"process.getBuiltinModule('fs').readFileSync('{told['file']}', 'utf8')",
        "process.getBuiltinModule('fs').readFileSync('/proc/self/environ', 'utf8')",
        f"process.getBuiltinModule('fs').readdirSync('{told['directory']}').join()",
        f"process.getBuiltinModule('fs').writeFileSync('{told['file']}', 'changed')",
        f"process.getBuiltinModule('fs').statSync('{told['file']}').size",
        "new (process.getBuiltinModule('bun:sqlite').Database)('/etc/passwd')",
    ):
        try:
            read.append(str(function(f"return {source}")()))
        except Exception:
            refused += 1
    return {"refused": refused, "read": read}
