"""The settings of the project, for processes of their own."""

import os

from .databases import database

SECRET_KEY = "of a test"  # noqa: S105
USE_TZ = True
ROOT_URLCONF = "tests.django_app.urls"
INSTALLED_APPS = [
    "django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions",
    "django.contrib.messages", "tickwise.django", "tests.django_app.shop",
]  # fmt: skip
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
    "OPTIONS": {"context_processors": [
        "django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
        "django.contrib.messages.context_processors.messages",
    ]},
}]  # fmt: skip
TASKS = {
    "default": {
        "BACKEND": "tickwise.django.tasks.TickwiseBackend",
        "QUEUES": ["default", "mail"],
        "OPTIONS": {"retry": {"limit": 1, "interval": "1h"}},
    }
}
TICKWISE = {"concurrency": 3}
DATABASES = {"default": database(os.environ.get("TICKWISE_TEST_DJANGO", "sqlite:////nowhere/project.db"))}
