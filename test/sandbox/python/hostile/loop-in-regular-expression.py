# expect: ^Script execution timed out\.$
import re


def transformEvent(event, metadata):
    return {"found": re.match(r"(x+x+)+y", "x" * 65536) is not None}
