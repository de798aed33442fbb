"""What a soak concludes from its samples, and the picture of them."""

from .plot import render_svg
from .samples import METRICS, Sample, drifts


def samples(last: float) -> list[Sample]:
    """Twenty, of which the later half has other figures; the first is of the warm-up."""
    early, late = [(90.0, 30, 10.0, 500, 2.0, 0.3)] * 10, [(last, 30, 10.0, 500, 2.0, 0.3)] * 10
    return [
        Sample(100, 5.0, 1, 1.0, 0, 9.0, 9.0),
        *(Sample(200 + n, *each) for n, each in enumerate(early + late)),
    ]


def test_what_grows_is_found() -> None:
    """Only that figure, by its own bound; what came before the warm-up was over does not count."""
    for last, grows in ((90.0, False), (98.0, False), (100.0, True)):
        found = {drift.name: drift.is_flat for drift in drifts(samples(last), 150)}
        assert found == {**dict.fromkeys(METRICS, True), "memory": not grows}


def test_one_bad_moment_is_no_drift() -> None:
    """A disk that hangs once makes one sample late, not the half."""
    hung = samples(90.0)
    hung[-1] = hung[-1]._replace(lateness=20.0)
    assert all(drift.is_flat for drift in drifts(hung, 150))


def test_the_picture_has_a_panel_for_each_figure() -> None:
    """One line, and the medians of both halves."""
    svg = render_svg("A soak", samples(90.0), drifts(samples(90.0), 150), 150)
    assert svg.count("<path ") == len(METRICS)
    assert svg.count('<line class="median"') == 2 * len(METRICS)
