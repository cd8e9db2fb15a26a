"""Studies: how well the learners rank, on generated and on published data. Claims about cost stand in `benchmarks/`."""
