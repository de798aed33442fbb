"""Where definitions come from. Each module here turns one way of writing them down into the core's values."""
