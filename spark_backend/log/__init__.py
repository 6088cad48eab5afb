"""The log of a stream: ``writer`` appends, ``reader`` and ``follower`` read; ``recovery`` and ``damage`` are of what a
crash or a disk has left of it.
"""
