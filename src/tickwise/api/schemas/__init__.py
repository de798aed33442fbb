"""Requests, queries and responses of the API as Pydantic models: bounded, and unknown fields are refused.

Times are RFC 3339 texts in UTC with a Z. Values are checked here one by one; the reader of job files checks the
fields of a definition.
"""
