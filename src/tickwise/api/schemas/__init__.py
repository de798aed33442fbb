"""What goes in and out of the API, as Pydantic models: bounded, and nothing unknown is taken.

Times are RFC 3339 texts in UTC with a Z. What is read is checked here value by value; what a definition says is
checked by the reader of job files.
"""
