"""The same work in CPython: reads {code, events, seconds}, prints events per second."""

import json
import sys
import time

request = json.load(sys.stdin)
scope = {}
exec(request["code"], scope)
transform = scope["transformEvent"]
events = request["events"]
metadata = {"sourceId": "s1"}


def measure(seconds):
    count = 0
    cpu = time.process_time()
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        for event in events:
            json.dumps(transform(json.loads(event), lambda _: metadata), separators=(",", ":"))
        count += len(events)
    return {
        "rate": count / (time.perf_counter() - start),
        "cpuRate": count / (time.process_time() - cpu),
        "version": sys.version.split()[0],
    }


measure(request["seconds"] / 4)
print(json.dumps(measure(request["seconds"])))
