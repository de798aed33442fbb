"""Collections and handlers for the tests of the document scheduler."""
