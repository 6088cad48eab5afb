"""What a reader makes of frames: runs of them for slices by time, the last ones, elements without their triples."""
