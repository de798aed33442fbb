"""Engines execute attempts instead of a worker of Tickwise. `contract` says what an engine must do."""
