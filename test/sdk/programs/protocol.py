"""The protocol of protocol.mjs, for SDKs of Python."""

import json
import re
import sys
import threading

writing = threading.Lock()


def report(client, outcome):
    with writing:
        print(json.dumps({"client": client, **outcome}), flush=True)


def snake_case(name):
    return re.sub("[A-Z]", lambda letter: "_" + letter.group().lower(), name)


def run(open_client):
    """Runs the protocol. The SDKs report only the events that failed."""
    clients = {}
    for line in sys.stdin:
        command = json.loads(line)
        name = command["client"]
        if "open" in command:

            def failed(error, events, name=name):
                for _ in events:
                    report(name, {"failed": str(error)})

            options = command["open"]
            clients[name] = open_client(options["address"], options["writeKey"], failed)
        else:
            call = command["call"]
            method = getattr(clients[name], call.pop("type"))
            method(**{snake_case(member): value for member, value in call.items()})
