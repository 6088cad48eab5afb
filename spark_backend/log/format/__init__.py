"""The files of a stream log: columns, rows, frames, segments, the manifest."""
