# expect: ^(Output of one event is larger than|Script crashed its guest|Script execution timed out)
def transformEvent(event, metadata):
    event["text"] = "x" * 1_000
    return [event] * 200_000
