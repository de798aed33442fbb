"""The dashboard: static ES modules in `static/` over the public API, served by `api/routes/dashboard.py`."""
