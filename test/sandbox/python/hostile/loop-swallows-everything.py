# expect: ^Script execution timed out\.$
def transformEvent(event, metadata):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
