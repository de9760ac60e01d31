# expect: ^Script execution timed out\.$
def transformEvent(event, metadata):
    try:
        while True:
            pass
    finally:
        while True:
            pass
