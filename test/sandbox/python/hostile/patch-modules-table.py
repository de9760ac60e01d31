# expect: "left":\d
import typing


def transformEvent(event, metadata):
    modules = typing.sys.modules
    for name in list(modules):
        if name.partition(".")[0] not in ("sys", "builtins", "importlib"):
            modules[name] = None
    return {"left": len(modules)}
