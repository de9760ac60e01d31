"""Functions that a program finds as names of its own: log and getCredential."""

from .jsontext import cut, encoded
from .limits import LOG_CHARS_MAX, LOGS_MAX


class Log:
    """Lines of `log(...)`, kept while `kept` is on."""

    def __init__(self):
        self.kept = False
        self.lines = []

    def log(self, *values):
        """Texts as they are, dicts and lists as JSON, the rest as Python shows it."""
        if self.kept and len(self.lines) < LOGS_MAX:
            line = " ".join(["Log:", *map(_shown, values)])
            self.lines.append(cut(line, LOG_CHARS_MAX))

    def take(self):
        lines, self.lines = self.lines, []
        return lines


def credential_reader(credentials):
    def getCredential(key=None):
        if key is None:
            raise TypeError("Key should be valid and defined")
        return credentials.get(key) if isinstance(key, str) else None

    return getCredential


def _shown(value):
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, list)):
        try:
            return encoded(value)
        except (TypeError, ValueError, RecursionError):
            pass
    return str(value)
