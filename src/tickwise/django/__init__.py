"""Tickwise in a Django project: `INSTALLED_APPS = [..., "tickwise.django"]`.

    from tickwise.django import tw

    @tw.job("0 3 * * *")
    def clear_sessions(): ...

`tw` is the project's scheduler, made from `settings.TICKWISE`. Jobs stand in the `jobs.py` of installed apps.
"""

from .scheduler import DjangoTickwise

__all__ = ["DjangoTickwise", "tw"]

tw = DjangoTickwise()
