# expect: "loaded":\d+
import typing


def transformEvent(event, metadata):
    pickle = typing.sys.modules["importlib"].import_module("pickle")
    command = f"echo changed > {event['canary']['file']}"
    text = f"cposix\nsystem\n(S'{command}'\ntR.".encode()
    try:
        return {"loaded": pickle.loads(text)}
    except Exception as error:
        return {"loaded": 0, "error": repr(error)}
