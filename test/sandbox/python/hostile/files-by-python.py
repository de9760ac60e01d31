# expect: "refused":[5-9]
import typing

io = typing.sys.modules["io"]
posix = typing.sys.modules["posix"]


def transformEvent(event, metadata):
    told = event["canary"]
    refused = 0
    read = []
    for path in (told["file"], "/proc/self/environ", "/proc/1/environ", "/etc/passwd",
                 f"/proc/{told['pid']}/environ", "/proc/self/mem"):
        try:
            with io.open(path) as file:
                read.append(file.read())
        except OSError:
            refused += 1
    try:
        with io.open(told["file"], "w") as file:
            file.write("changed")
    except OSError:
        refused += 1
    return {"refused": refused, "read": read, "environment": repr(posix.environ)}
