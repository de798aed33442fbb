"""The measurements behind docs/benchmarks.md, each beside a peer in the same run; they work from a wheel too."""
