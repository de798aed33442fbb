"""The store over SQL: procedures that ask statements, and drivers that answer them.

A procedure (`tick`, `lease`, `finish` …) is a generator: it yields statements and is sent their rows, so it is
written once and knows neither threads nor event loops. A driver runs it inside one transaction, in its own way:
SQLite in the one thread that writes, PostgreSQL over an asynchronous connection.
"""
