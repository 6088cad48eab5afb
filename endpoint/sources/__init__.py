"""What fills streams from elsewhere (docs/sources.md): a client each, in a thread of its own.

``connection`` says what a client is to the rest, ``run`` keeps one going, ``sources`` has all of an endpoint's;
``connectors`` names the folder of each type.
"""
