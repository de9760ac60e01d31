"""Answers the host's requests, as `guest-protocol.ts` defines them: frames of a JSON line and a
body.
"""

import ast
import gc
import sys

from . import deadline, host_calls
from .allowed_modules import ALLOWED
from .batch import Batch
from .user_errors import MAIN_FILE, Sources, plain_fault, shortened, syntax_fault
from .imports import imports_of
from .json_text import cut, decoded, encoded, utf8
from .limits import ERROR_CHARS_MAX, IMPORTS_MAX
from .program import LoadFailure, Program
from .user_functions import Log

FAILED = -1
OPEN = -2
TIMED_OUT = "Script execution timed out."

_recursion_limit = sys.getrecursionlimit()
_int_digits_max = sys.get_int_max_str_digits()
_TOOLS = range(6)
_log = Log()
# By the program's number: the request that loaded a program, and the program. The program is None
# after a timeout, until it is loaded again.
_requests = {}
_programs = {}


def answer(message):
    """Answers one request. Takes and returns a frame's bytes. Raises for an unknown request."""
    end = message.index(b"\n")
    request = decoded(message[:end].decode())
    # A view, since each copy of the body takes as long as some events need.
    body = memoryview(message)[end + 1 :]
    _settle()
    reply, lines = _answers[request["kind"]](request, body)
    reply["exchange"] = request["exchange"]
    # The header ends in a newline also when no output follows.
    return b"\n".join([utf8(encoded(reply)), *(lines or (b"",))])


def _settle():
    """Resets the interpreter's settings, which a program may have changed for all programs."""
    sys.setrecursionlimit(_recursion_limit)
    sys.set_int_max_str_digits(_int_digits_max)
    # These functions would see the frames of other programs, and so their events.
    sys.settrace(None)
    sys.setprofile(None)
    for tool in _TOOLS:
        if sys.monitoring.get_tool(tool) is not None:
            sys.monitoring.free_tool_id(tool)


def _load(request, _):
    for number in request["drop"]:
        _requests.pop(number, None)
        _programs.pop(number, None)
    if request["drop"]:
        # The modules of a program refer to each other, so only the collector frees them.
        gc.collect()
    number = request["program"]
    fault = _loaded(number, request)
    if fault is None:
        _requests[number] = request
    return _load_reply(fault), ()


def _run(request, body):
    number = request["program"]
    if _programs[number] is None:
        fault = _loaded(number, _requests[number])
        if fault is not None:
            return _load_reply(fault), ()
    program = _programs[number]
    program.enter()
    host_calls.begin()
    size = request["eventsBytes"]
    events = decoded(str(body[:size], "utf-8"))
    if len(events) != request["count"]:
        raise ValueError("Expected as many events as announced")
    batch = Batch(program, events, body[size:])
    _log.begin(request["logsMax"], request["logsCharsMax"], batch)
    batch.run()
    if batch.stopped == "timeout":
        # The stopped code may have left its state half changed, so the program is loaded again.
        _programs[number] = None
    return _ran_reply(batch), [line for it in batch.outcomes if isinstance(it, list) for line in it]


def _ran_reply(batch):
    reply = {
        "kind": "ran",
        "counts": [_count(outcome) for outcome in batch.outcomes],
        "errors": shortened([it for it in batch.outcomes if isinstance(it, dict)]),
        "logs": _log.take(),
    }
    if batch.stopped is not None:
        reply["stopped"] = {"reason": batch.stopped}
        if batch.culprit is not None:
            reply["stopped"]["culprit"] = batch.culprit
        if batch.failure is not None:
            reply["stopped"]["error"] = batch.failure
    return reply


def _count(outcome):
    if outcome is None:
        return OPEN
    return FAILED if isinstance(outcome, dict) else len(outcome)


def _library(request, _):
    name = request["importName"]
    if name in ALLOWED:
        return _load_reply(plain_fault(f"ImportError: '{name}' is a standard module's name")), ()
    program = Program(name, "", {**_codes(request), name: request["code"]}, {}, _log.log)
    return _load_reply(_fault_of(lambda: program.load_library(name))), ()


def _inspect(request, _):
    try:
        tree = ast.parse(request["code"], MAIN_FILE)
    except Exception as error:
        fault = syntax_fault(error, MAIN_FILE, Sources("code", request["code"], {}))
        return {"kind": "inspected", "imports": [], "error": fault}, ()
    names = dict.fromkeys(
        cut(item.name, ERROR_CHARS_MAX) for item in imports_of(tree) if not item.relative
    )
    if len(names) > IMPORTS_MAX:
        fault = plain_fault(f"Expected at most {IMPORTS_MAX} imports, got {len(names)}")
        return {"kind": "inspected", "imports": [], "error": fault}, ()
    return {"kind": "inspected", "imports": list(names)}, ()


def _loaded(number, request):
    """Loads a program under its number. Returns the error of code that does not load, else None."""
    host_calls.begin()
    program = Program(
        request["name"], request["code"], _codes(request), request["credentials"], _log.log
    )
    fault = _fault_of(program.load)
    if fault is None:
        _programs[number] = program
    return fault


def _codes(request):
    return {library["importName"]: library["code"] for library in request["libraries"]}


def _fault_of(load):
    try:
        is_expired = deadline.limited(load)
    except LoadFailure as failure:
        is_expired, fault = deadline.expired, failure.fault
    else:
        fault = None
    return plain_fault(TIMED_OUT) if is_expired else fault


def _load_reply(fault):
    return {"kind": "loaded"} if fault is None else {"kind": "loaded", "error": fault}


_answers = {"load": _load, "run": _run, "library": _library, "inspect": _inspect}
