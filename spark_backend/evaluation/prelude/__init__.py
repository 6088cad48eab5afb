"""The prelude: functions that SQL lacks, which Oxigraph evaluates, so that continuous and one-shot queries agree."""
