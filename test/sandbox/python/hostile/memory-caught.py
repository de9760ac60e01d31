# expect: ^Script (crashed its guest|execution timed out)
def transformEvent(event, metadata):
    hoard = []
    try:
        while True:
            hoard.append(bytes(1_000_000))
    except MemoryError:
        hoard.clear()
    return {"caught": True}
