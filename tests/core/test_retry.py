"""Transient statuses, Retry-After in both of its forms, and backoff with jitter."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glossator.core.resilience.retry import MAX_RETRY_AFTER_SECONDS, Backoff, is_transient_status, parse_retry_after


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_transient_statuses(status: int) -> None:
    assert is_transient_status(status)


@pytest.mark.parametrize("status", [200, 304, 400, 401, 403, 404, 409, 413, 422, 425, 501])
def test_other_statuses_are_not_transient(status: int) -> None:
    assert not is_transient_status(status)


def test_a_caller_can_add_statuses() -> None:
    assert is_transient_status(409, also=frozenset({409, 425}))
    assert is_transient_status(501, also=range(500, 1000))
    assert not is_transient_status(404, also=frozenset({409, 425}))


@pytest.mark.parametrize(("value", "seconds"), [("0", 0.0), ("7", 7.0), (" 7 ", 7.0), ("0.5", 0.5)])
def test_retry_after_in_seconds(value: str, seconds: float) -> None:
    assert parse_retry_after(value) == seconds


def test_retry_after_as_a_date() -> None:
    date = datetime.now(UTC) + timedelta(seconds=30)
    seconds = parse_retry_after(format_datetime(date, usegmt=True))
    assert seconds is not None
    assert 25 < seconds <= 30


def test_retry_after_in_the_past_is_no_delay() -> None:
    assert parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0


@pytest.mark.parametrize("value", ["9" * 400, "Fri, 31 Dec 9999 23:59:59 GMT"], ids=["400 digits", "year 9999"])
def test_retry_after_is_bounded(value: str) -> None:
    assert parse_retry_after(value) == MAX_RETRY_AFTER_SECONDS


@pytest.mark.parametrize(
    "value", [None, "", "soon", "-1", "inf", "nan", "1e3", "Wed, 99 Oct 2015 07:28:00 GMT", "21 Oct 2015 07:28 -0000"]
)
def test_malformed_retry_after_is_ignored(value: str | None) -> None:
    assert parse_retry_after(value) is None


@given(st.text())
def test_retry_after_never_raises(value: str) -> None:
    seconds = parse_retry_after(value)
    assert seconds is None or 0.0 <= seconds <= MAX_RETRY_AFTER_SECONDS


def test_backoff_doubles_up_to_its_limit() -> None:
    backoff = Backoff(first_seconds=1.0, max_seconds=5.0, attempts=5)
    for attempt, ceiling in ((1, 1.0), (2, 2.0), (3, 4.0), (4, 5.0), (1_000_000, 5.0)):
        delays = [backoff.delay(attempt) for _ in range(200)]
        assert all(0.0 <= delay <= ceiling for delay in delays)
        assert max(delays) > ceiling / 2, "the delay grows with the attempts"
        assert len(set(delays)) > 1, "the delay is random"


def test_backoff_without_a_delay() -> None:
    assert Backoff(first_seconds=0.0, max_seconds=5.0, attempts=3).delay(2) == 0.0
