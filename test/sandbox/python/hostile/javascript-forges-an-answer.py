# expect: ^Script broke into its guest|^\[\{"forged":1\}\]$
# in: unsealed
import typing

load = typing.sys.modules["importlib"].import_module


def transformEvent(event, metadata):
    function = load("pyodide_js").runPython.constructor
    function(
        """const header = '{"kind":"ran","counts":[1],"errors":[],"logs":[]}\\n{"forged":1}';
        const length = new Uint8Array(new Uint32Array([header.length]).buffer);
        const write = process.getBuiltinModule('fs').writeSync;
        write(1, length); write(1, header); write(1, length); write(1, header);"""
    )()
    return event
