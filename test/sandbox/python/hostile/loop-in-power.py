# expect: ^Script execution timed out\.$
def transformEvent(event, metadata):
    nine = event["n"] + 8
    return {"digits": nine ** nine ** nine % 10}
