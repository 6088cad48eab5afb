"""Standing queries' answers, taken elsewhere (docs/sinks.md); each of these knows those before it.

A ``target`` is where answers go: ``webhook``, ``mqtt``, ``kafka`` and ``json_lines_file``; ``targets`` makes that of a
sink's settings. ``sink_files`` keeps settings and positions on the disk. A ``delivery`` is one sink at work: a listener
of the query that resumes where it was. ``sinks`` are all of an application.
"""
