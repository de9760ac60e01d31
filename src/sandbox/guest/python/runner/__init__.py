"""The code that runs inside a guest's Python: it loads programs, runs them on events, and answers
the host's requests.

It is part of the memory snapshot. It is not a security boundary, because introspection gives Python
code access to the whole heap; the operating system confines the process. It only keeps the programs
of one workspace apart.
"""
