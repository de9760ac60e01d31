# expect: ^Script crashed its guest
# spoils: an exception of JavaScript's goes through the interpreter
# Emscripten's functions are called by their names; some hand a text to JavaScript's `eval`.
import typing

load = typing.sys.modules["importlib"].import_module
typing.sys.modules["__main__"] = typing


def transformEvent(event, metadata):
    own = load("ctypes").CDLL(None)
    own.emscripten_run_script(b"process.getBuiltinModule('fs').writeSync(2, 'evaluated')")
    return {"evaluated": True}
