"""Files that grow, and folders of them: ``framing`` finds where messages end, ``growing_file`` reads one file,
``rotation`` tells which files had a name one after the other, ``connection`` reads what there is to read.
"""
