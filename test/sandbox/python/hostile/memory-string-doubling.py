# expect: ^Script crashed its guest, most likely at its memory limit$
def transformEvent(event, metadata):
    text = "x"
    while True:
        text += text
