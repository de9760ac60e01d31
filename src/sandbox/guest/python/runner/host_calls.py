"""What user code may ask of the host in the middle of a batch. Python stands still meanwhile."""

from .json_text import decoded, encoded
from .limits import QUESTIONS_MAX

# Takes a question and returns its answer, JSON texts; set once the snapshot is restored.
ask = None

_asked = 0


def begin():
    """Another batch, or program: what was asked before does not count."""
    global _asked
    _asked = 0


def geolocation(ip=None):
    if not ip:
        raise ValueError("ip address is required")
    global _asked
    if _asked >= QUESTIONS_MAX:
        raise ValueError(f"Expected at most {QUESTIONS_MAX} fetches in a batch")
    _asked += 1
    answer = decoded(ask(encoded({"id": 0, "ip": str(ip)})))
    if "error" in answer:
        raise ValueError(answer["error"])
    return answer["location"]
