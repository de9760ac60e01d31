# expect: ^Script execution timed out\.$
def transformEvent(event, metadata):
    return {"sum": sum(range(10**12))}
