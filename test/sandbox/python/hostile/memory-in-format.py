# expect: ^(Script crashed its guest|MemoryError|OverflowError|ValueError)
def transformEvent(event, metadata):
    return {"text": f"{event['n']:>2000000000}"}
