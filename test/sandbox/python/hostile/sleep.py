# expect: ^Script execution timed out\.$
import time


def transformEvent(event, metadata):
    time.sleep(3600)
    return event
