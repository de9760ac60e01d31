# expect: ^Script crashed its guest, most likely at its memory limit$
def transformEvent(event, metadata):
    hoard = []
    while True:
        hoard.append([0] * 100_000)
