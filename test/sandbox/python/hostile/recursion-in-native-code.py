# expect: ^(RecursionError|Script crashed its guest)
import copy


def transformEvent(event, metadata):
    value = []
    for _ in range(100_000):
        value = [value]
    return {"text": len(repr(copy.deepcopy(value)))}
