"""Functions with which user code calls the host during a batch. Python waits for the result."""

from .json_text import cut, decoded, encoded
from .limits import QUESTION_CHARS_MAX, QUESTIONS_MAX

# Takes a host call and returns its result, both as JSON text. Set once the snapshot is restored.
ask = None

_asked = 0


def begin():
    """Resets the count of host calls at the start of a batch, or of the load of a program."""
    global _asked
    _asked = 0


def geolocation(ip=None):
    if not ip:
        raise ValueError("ip address is required")
    global _asked
    if _asked >= QUESTIONS_MAX:
        raise ValueError(f"Expected at most {QUESTIONS_MAX} fetches in a batch")
    _asked += 1
    question = encoded({"id": 0, "ip": str(ip)})
    if cut(question, QUESTION_CHARS_MAX) != question:
        raise ValueError(f"Expected a request of at most {QUESTION_CHARS_MAX} characters")
    answer = decoded(ask(question))
    if "error" in answer:
        raise ValueError(answer["error"])
    return answer["location"]
