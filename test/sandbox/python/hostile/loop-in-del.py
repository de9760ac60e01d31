# expect: ^Script execution timed out\.$
class Lasting:
    def __del__(self):
        while True:
            pass


def transformEvent(event, metadata):
    Lasting()
    return event
