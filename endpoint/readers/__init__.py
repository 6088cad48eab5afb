"""One-shot queries evaluated in processes of their own: Oxigraph cannot be interrupted, but a process can be ended.

``pool`` lends the processes out and replaces those that were ended; ``process`` is the server's end of one, ``reader``
the program that runs in it, ``exchange`` what the two say to each other. ``snapshot`` makes the state of the store,
which a reader has open (``open_snapshot``); its ``writer`` cuts an ``answer`` into frames, which ``response`` relays to
an HTTP client. ``limits`` and ``errors`` say how far all this goes.
"""
