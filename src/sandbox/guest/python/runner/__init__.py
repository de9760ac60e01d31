"""What runs inside the Python of a guest: realms, programs and the answers to the host's questions.

It is part of the memory snapshot. It is no boundary (Python's introspection leads anywhere in its
heap; the operating system confines the process): it keeps the programs of one workspace apart.
"""
