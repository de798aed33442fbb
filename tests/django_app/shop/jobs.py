from tickwise.django import tw

from .models import Order


@tw.job("0 3 * * *")
def count_orders() -> int:
    return int(Order.objects.count())


@tw.job
def ship(order: int) -> str:
    return f"shipped {order}"
