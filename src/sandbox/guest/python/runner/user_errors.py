"""Turns errors of user code into faults: dicts with the fields of the host's `UserError`."""

from .deadline import Expired
from .json_text import cut, encoded
from .limits import ERROR_CHARS_MAX, ERRORS_CHARS_MAX

MAIN_FILE = "<transformation>"
LIBRARY_PREFIX = "<library "

# The attributes themselves, which classes of user code may replace.
_name_of = type.__dict__["__name__"].__get__
_traceback_of = BaseException.__dict__["__traceback__"].__get__

_ENTRY_POINTS = ("transformEvent", "transformBatch")
_FRAMES_MAX = 10
# Characters that are kept of an error, once earlier errors have filled a reply.
_SHORT_CHARS = 100


def library_file(import_name):
    return f"{LIBRARY_PREFIX}{import_name}>"


class Sources:
    """The files of a program: their names in error messages, and their lines."""

    def __init__(self, name, code, libraries):
        self.label = name
        self.lines = {MAIN_FILE: code.split("\n")}
        for import_name, text in libraries.items():
            self.lines[library_file(import_name)] = text.split("\n")

    def place(self, file, line, column):
        """Returns a position as text, such as `My T:2:13`, or `library x:2:13`."""
        label = self.label if file == MAIN_FILE else file.strip("<>")
        return f"{label}:{line}:{column}"

    def column(self, file, line, offset):
        """Converts a byte offset in UTF-8, as CPython counts, to a column in characters (1-based).
        """
        if offset is None:
            return 1
        lines = self.lines[file]
        text = lines[line - 1] if line <= len(lines) else ""
        return len(text.encode("utf-8", "replace")[:offset].decode("utf-8", "ignore")) + 1


def event_fault(error, sources):
    """Describes an error that an event has caused: its first line, and the stack frames in the
    user's files up to the entry point.
    """
    frames = _frames(error, sources)
    shown = []
    for frame in frames:
        shown.append(frame)
        if frame[0] == MAIN_FILE and frame[1] in _ENTRY_POINTS:
            break
    lines = [
        f"    at {function} ({sources.place(file, line, column)})"
        for file, function, line, column in shown[:_FRAMES_MAX]
    ]
    return _located("\n".join([_head(error), *lines]), frames)


def load_fault(error, sources):
    """Describes an error that keeps code from loading: its first line and its position."""
    return _located(_head(error), _frames(error, sources))


def placed_fault(kind, message, file, line, column, sources):
    """Describes an error with its position: `SyntaxError: '(' was never closed [My T:1:20]`."""
    place = sources.place(file, line, column)
    return _located(f"{kind}: {message} [{place}]", [(file, "", line, column)])


def syntax_fault(error, file, sources):
    """Describes an error of the compiler; one without a position is placed at the start of the
    file.
    """
    if not isinstance(error, SyntaxError):
        # A null byte, or a limit of the parser: too deeply nested, too many symbols.
        return placed_fault(type(error).__name__, str(error), file, 1, 1, sources)
    line = max(error.lineno or 1, 1)
    column = max(error.offset or 1, 1)
    return placed_fault(type(error).__name__, error.msg, file, line, column, sources)


def caller_place(frame):
    """Returns line and library of the innermost user code in the stack; an empty dict without any.
    """
    while frame is not None:
        file = frame.f_code.co_filename
        if file == MAIN_FILE:
            return {"line": frame.f_lineno}
        if file.startswith(LIBRARY_PREFIX):
            return {"line": frame.f_lineno, "library": file[len(LIBRARY_PREFIX) : -1]}
        frame = frame.f_back
    return {}


def shortened(faults):
    """Limits the faults of one reply: once they have `ERRORS_CHARS_MAX` characters of JSON
    together, the following messages are cut to `_SHORT_CHARS`.
    """
    chars = 0
    whole = []
    for fault in faults:
        chars += len(encoded(fault))
        if chars > ERRORS_CHARS_MAX:
            fault = {**fault, "message": cut(fault["message"], _SHORT_CHARS)}
            fault.pop("library", None)
        whole.append(fault)
    return whole


def plain_fault(message):
    return {"message": cut(message, ERROR_CHARS_MAX)}


def _head(error):
    kind = _name_of(type(error))
    try:
        # Joined, because a text of a class of the user's own would run its code when it is used.
        message = "".join([str(error)])
        notes = [note for note in getattr(error, "__notes__", ()) if isinstance(note, str)]
    except Expired:
        raise
    except BaseException:
        return f"{kind}: The error cannot be shown"
    return "\n".join([f"{kind}: {message}" if message else kind, *notes])


def _frames(error, sources):
    """Returns the user's stack frames, innermost first, as (file, function, line, column)."""
    frames = []
    step = _traceback_of(error)
    while step is not None:
        code = step.tb_frame.f_code
        file = code.co_filename
        if file in sources.lines:
            line, offset = _position(code, step)
            function = code.co_qualname.replace("<locals>.", "")
            frames.append((file, function, line, sources.column(file, line, offset)))
        step = step.tb_next
    frames.reverse()
    return frames


def _position(code, step):
    """Returns line and byte offset of the expression that raised. An instruction has two bytes."""
    for index, (line, _, offset, _) in enumerate(code.co_positions()):
        if index == step.tb_lasti // 2:
            return line or step.tb_lineno, offset
    return step.tb_lineno, None


def _located(message, frames):
    fault = plain_fault(message)
    if frames:
        file, _, fault["line"], fault["column"] = frames[0]
        if file != MAIN_FILE:
            fault["library"] = file[len(LIBRARY_PREFIX) : -1]
    return fault
