# expect: "refused":[4-9]
# in: unsealed
import typing

load = typing.sys.modules["importlib"].import_module


def transformEvent(event, metadata):
    function = load("pyodide_js").runPython.constructor
    told = event["canary"]
    command = f"['/bin/sh', '-c', 'echo changed > {told['file']}']"
    refused = 0
    for source in (
        f"Bun.spawnSync({command})",
        f"Bun.spawn({command})",
        f"process.getBuiltinModule('child_process').execFileSync(...{command[:11]}], {command[12:]})",
        # Signal 0 asks for the same right and harms nobody where the confinement fails.
        f"process.kill({told['pid']}, 0)",
        "process.kill(process.ppid, 0)",
        "process.kill(-1, 0)",
    ):
        try:
            function(f"return {source}")()
        except Exception:
            refused += 1
    return {"refused": refused}
