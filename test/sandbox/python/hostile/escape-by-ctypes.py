# expect: ^Script (crashed its guest|execution timed out)|"error"
import typing


def transformEvent(event, metadata):
    try:
        ctypes = typing.sys.modules["importlib"].import_module("ctypes")
    except ImportError as error:
        return {"error": str(error)}
    ctypes.memset(0, 255, 1 << 24)
    return event
