"""The dashboard: static ES modules over the public API, as `static/`; `api/routes/dashboard.py` serves them."""
