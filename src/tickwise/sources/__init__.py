"""Where definitions come from: each module turns one way of writing them into the core's values."""
