# expect: ^Script (crashed its guest|execution timed out)
def transformEvent(event, metadata):
    hoard = []
    while True:
        hoard.append([0] * 100_000)
