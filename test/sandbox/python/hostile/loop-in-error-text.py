# expect: ^Script execution timed out\.$
class Endless(Exception):
    def __str__(self):
        while True:
            pass


def transformEvent(event, metadata):
    raise Endless
