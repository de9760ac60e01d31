# expect: ^Script crashed its guest, most likely at its memory limit$
def transformEvent(event, metadata):
    return {"size": len(bytearray(10**9))}
