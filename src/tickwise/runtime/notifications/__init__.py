"""Notifications to people: what they report, when, and over which channel."""
