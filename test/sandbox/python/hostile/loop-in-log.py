# expect: ^Script execution timed out\.$
class Endless:
    def __str__(self):
        while True:
            pass


def transformEvent(event, metadata):
    str(Endless())
    log(Endless())
