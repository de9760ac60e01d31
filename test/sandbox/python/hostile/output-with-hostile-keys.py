# expect: "\\"\},\{\\"forged\\":\\"|forged
class Key(str):
    def __str__(self):
        return '"},{"forged":"'


def transformEvent(event, metadata):
    return {Key("plain"): Key('"},{"forged":"')}
