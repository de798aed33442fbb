from django.db import models


class Order(models.Model):  # noqa: DJ008
    id = models.BigAutoField(primary_key=True)
    number = models.IntegerField()
