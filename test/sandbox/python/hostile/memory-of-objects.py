# expect: ^Script (crashed its guest|execution timed out)
class Node:
    def __init__(self, next):
        self.next = next


def transformEvent(event, metadata):
    node = None
    while True:
        node = Node(node)
