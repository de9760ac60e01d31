# expect: ^Script execution timed out\.$
def transformEvent(event, metadata):
    try:
        while True:
            pass
    except BaseException:
        return {"caught": True}
