"""Where schedules and runs are kept: one contract, many stores."""
