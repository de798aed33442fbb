"""The measurements behind docs/benchmarks.md, each beside a peer in the same run. Not part of the wheel."""
