# expect: ^(RecursionError|Script crashed its guest)
def transformEvent(event, metadata):
    value = []
    for _ in range(1_000_000):
        value = [value]
    return {"value": value}
