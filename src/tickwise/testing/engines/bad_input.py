"""Settings and options that are wrong, and texts that must arrive as they are."""
# ruff: noqa: S101  (a suite of tests asserts)

import pytest

from ...core.errors import InputError
from ...core.handover import Sight
from .stories import EngineStories
from .workplace import Work
from .world import EngineWorld


class BadEngineInputStories(EngineStories):
    def test_a_setting_that_does_not_exist_is_refused(self) -> None:
        """The error names the field and the nearest right one, before anything connects."""
        for given in ({"no_such_setting": 1}, *({f"{name}x": 1} for name in self.settings)):
            with pytest.raises(InputError) as refused:
                self.engine.from_settings("conformance", {**self.settings, **given})
            assert next(iter(given)) in str(refused.value)
            assert "conformance" in str(refused.value)

    def test_a_wrong_setting_is_refused(self) -> None:
        """The error says which, and shows no value, which may be a secret."""
        for given, word in self.wrong_settings:
            with pytest.raises(InputError, match=word) as refused:
                self.engine.from_settings("conformance", given)
            assert not [secret for secret in self.secrets if secret in str(refused.value)]

    def test_an_option_that_does_not_exist_is_refused(self) -> None:
        """A job file with a slip is refused when it is loaded."""
        with pytest.raises(InputError, match="no_such_option"):
            self.engine.check_options({"no_such_option": 1})

    def test_a_wrong_option_is_refused(self) -> None:
        """The error says which."""
        for given, word in self.wrong_options:
            with pytest.raises(InputError, match=word):
                self.engine.check_options(given)

    def test_right_options_are_accepted(self) -> None:
        """None at all, and those of the stories."""
        self.engine.check_options({})
        self.engine.check_options(self.options)

    async def test_secrets_of_the_settings_are_not_shown(self, world: EngineWorld) -> None:
        """Neither the engine nor the address of its work says them."""
        order = world.order(Work.FINISHES)
        submitted = await world.engine.submit(order)
        seen = await world.until(order.reference, Sight.ENDED)
        shown = f"{world.engine!r} {world.engine} {submitted} {seen}"
        ticket = order.environment.get("TICKWISE_TICKET")
        assert not [secret for secret in (*self.secrets, ticket) if secret and secret in shown]
