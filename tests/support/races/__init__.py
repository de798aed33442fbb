"""Processes that race on a store, started and stopped by a test."""
