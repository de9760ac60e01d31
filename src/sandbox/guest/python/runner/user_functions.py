"""Functions that a program can call without an import: log and getCredential."""

from sys import _getframe

from .user_errors import caller_place
from .json_text import cut, encoded
from .limits import LOG_CHARS_MAX


class Log:
    """Collects the first lines of `log(...)`, up to a number of lines and a number of characters.
    """

    def __init__(self):
        self._lines_max = 0
        self._chars_left = 0
        self._lines = []
        self._batch = None

    def begin(self, lines_max, chars_max, batch):
        self._lines_max = lines_max
        self._chars_left = chars_max
        self._lines = []
        self._batch = batch

    def log(self, *values):
        """Logs texts as they are, dicts and lists as JSON, and other values as `str` shows them."""
        if len(self._lines) >= self._lines_max:
            return
        line = cut(" ".join(["Log:", *map(_shown, values)]), LOG_CHARS_MAX)
        self._chars_left -= len(encoded(line))
        if self._chars_left < 0:
            self._lines_max = 0
        else:
            entry = {"text": line, **caller_place(_getframe(1))}
            if self._batch is not None and self._batch.current is not None:
                entry["event"] = self._batch.current
            self._lines.append(entry)

    def take(self):
        lines, self._lines, self._batch = self._lines, [], None
        return lines


def credential_reader(credentials):
    def getCredential(key=None):
        if key is None:
            raise TypeError("Key should be valid and defined")
        return credentials.get(key) if isinstance(key, str) else None

    return getCredential


def _shown(value):
    """Returns any value as text. Must not raise, because only some calls of `log` keep a line."""
    if isinstance(value, str):
        return value
    for show in (encoded, str) if isinstance(value, (dict, list)) else (str,):
        try:
            return show(value)
        except Exception:
            pass
    return "(a value that cannot be shown)"
