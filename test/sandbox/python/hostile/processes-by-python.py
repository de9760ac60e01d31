# expect: "refused":[5-9]
import typing

load = typing.sys.modules["importlib"].import_module


def transformEvent(event, metadata):
    told = event["canary"]
    os = load("os")
    command = f"echo changed > {told['file']}"
    refused = 0
    for attempt in (
        lambda: os.fork(),
        lambda: os.execv("/bin/sh", ["sh", "-c", command]),
        lambda: load("subprocess").run(["/bin/sh", "-c", command]),
        lambda: os.posix_spawn("/bin/sh", ["sh", "-c", command], {}),
        lambda: os.kill(told["pid"], 0),
        lambda: 1 / (os.system(command) == 0),
        lambda: load("threading").Thread(target=print).start(),
    ):
        try:
            attempt()
        except Exception:
            refused += 1
    return {"refused": refused}
