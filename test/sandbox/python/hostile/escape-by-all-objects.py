# expect: "looked":\d{3,}
import typing


def transformEvent(event, metadata):
    gc = typing.sys.modules["importlib"].import_module("gc")
    texts = []
    for found in gc.get_objects():
        if type(found) is dict:
            for key, value in list(found.items()):
                if type(value) is str and "canary" in value and "canary" not in event:
                    texts.append(value)
    return {"looked": len(gc.get_objects()), "texts": texts}
