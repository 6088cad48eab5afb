"""Files that grow, and folders of them: ``framing`` finds where messages end, ``growing_file`` reads one file,
``connection`` finds the files, also those that were rotated.
"""
