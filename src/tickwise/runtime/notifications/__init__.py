"""Messages to people: what they are told of, when, and over which channel."""
