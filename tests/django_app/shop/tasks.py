from typing import Any

try:
    from django.tasks import task
except ImportError:
    from django_tasks import task


@task(priority=5, queue_name="mail")
def send_mail(to: str, subject: str = "hello") -> str:
    return f"{subject} {to}"


@task(takes_context=True)
def with_context(context: Any, **words: str) -> list[Any]:
    return [context.attempt, context.task_result.id, words]


@task
async def fail(number: int) -> None:
    raise LookupError(f"no order {number}\nat all")
