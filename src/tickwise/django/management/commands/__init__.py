"""`manage.py tickwise`."""
