# expect: ^Script execution timed out\.$
def transformBatch(events, metadata):
    while True:
        pass
