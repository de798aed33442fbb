"""Names and ids in paths: a text that cannot be one matches no route."""

from starlette.convertors import StringConvertor, register_url_convertor

NAME = r"[A-Za-z0-9][A-Za-z0-9._\-]{0,99}"


class _NameConvertor(StringConvertor):
    regex = NAME


register_url_convertor("name", _NameConvertor())
