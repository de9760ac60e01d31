# expect: "refused":2
import typing

load = typing.sys.modules["importlib"].import_module


def transformEvent(event, metadata):
    told = event["canary"]
    refused = 0
    for attempt in (
        lambda: load("socket").create_connection(("127.0.0.1", told["port"]), 1).send(b"x"),
        lambda: load("pyodide.http").open_url(told["url"]),
    ):
        try:
            attempt()
        except BaseException:
            refused += 1
    return {"refused": refused}
