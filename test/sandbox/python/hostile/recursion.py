# expect: ^RecursionError: maximum recursion depth exceeded
def transformEvent(event, metadata):
    return transformEvent(event, metadata)
