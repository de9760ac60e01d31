# expect: ^Script (crashed its guest|execution timed out)
hoard = [bytes(10_000_000) for _ in range(1_000)]


def transformEvent(event, metadata):
    return event
