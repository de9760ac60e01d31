# expect: ^Script execution timed out\.$
def transformEvent(event, metadata):
    while True:
        pass
