# expect: ^Expected at most [0-9]+ outputs of one event, got 200000$
def transformEvent(event, metadata):
    event["text"] = "x" * 1_000
    return [event] * 200_000
