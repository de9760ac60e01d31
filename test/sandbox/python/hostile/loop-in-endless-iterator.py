# expect: ^Script execution timed out\.$
import itertools


def transformEvent(event, metadata):
    return {"n": 5 in itertools.repeat(4)}
