"""The mappings of a definition: nobody can change them. Unlike views of a dict, they can be copied and pickled."""

from typing import Any, NoReturn, TypeVar

_Value = TypeVar("_Value")


class ReadOnlyDict(dict[str, _Value]):
    """A dict that refuses every change. `dict(it)` is one that can be changed."""

    __slots__ = ()

    def _refuse(self, *_given: Any, **_named: Any) -> NoReturn:
        raise TypeError("a definition cannot be changed: make another one with dataclasses.replace")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type["ReadOnlyDict[Any]"], tuple[dict[str, _Value]]]:
        return ReadOnlyDict, (dict(self),)
