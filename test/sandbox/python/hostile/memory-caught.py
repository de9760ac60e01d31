# expect: ^Script crashed its guest, most likely at its memory limit$
def transformEvent(event, metadata):
    hoard = []
    try:
        while True:
            hoard.append(bytes(1_000_000))
    except MemoryError:
        hoard.clear()
    return {"caught": True}
