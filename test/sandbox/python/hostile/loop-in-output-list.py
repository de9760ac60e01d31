# expect: ^Script execution timed out\.$
class Endless(list):
    def __iter__(self):
        while True:
            yield {}


def transformEvent(event, metadata):
    return Endless([{}])
