"""The same work in CPython: reads a line of JSON, {code, events, seconds}, and prints the rates of
events. Without `seconds`, it transforms the events that arrive on the standard input, a line each,
one at a time, and ends with the input.
"""

import json
import sys
import time

request = json.loads(sys.stdin.buffer.readline())
scope = {}
exec(request["code"], scope)
transform = scope["transformEvent"]
metadata = {"sourceId": "s1"}


def transformed(event):
    return json.dumps(transform(json.loads(event), lambda _: metadata), separators=(",", ":"))


def measure(seconds):
    count = 0
    cpu = time.process_time()
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        for event in request["events"]:
            transformed(event)
        count += len(request["events"])
    return {
        "rate": count / (time.perf_counter() - start),
        "cpuRate": count / (time.process_time() - cpu),
        "version": sys.version.split()[0],
    }


if "seconds" in request:
    measure(request["seconds"] / 4)
    print(json.dumps(measure(request["seconds"])))
else:
    for event in sys.stdin.buffer:
        sys.stdout.buffer.write(transformed(event).encode() + b"\n")
        sys.stdout.buffer.flush()
