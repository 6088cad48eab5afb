"""Processes of the server's own, which end with it and may be ended at any moment.

``child`` starts one, ``template`` is the program it is forked from, ``frames`` are what both say to each other, and a
``relayed_error`` is raised in one and answered in the other.
"""
