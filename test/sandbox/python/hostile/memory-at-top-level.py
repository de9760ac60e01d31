# expect: ^Script crashed its guest, most likely at its memory limit$
hoard = [bytes(10_000_000) for _ in range(1_000)]


def transformEvent(event, metadata):
    return event
