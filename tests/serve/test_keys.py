"""Keys and widget tokens: who gets in, who does not, and that nothing ever opens the door by accident."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import hmac
import json
import logging
import os
import re
import stat
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from commands import quick_folder
from glossator.cli.keys import keys as keys_command
from glossator.core import files as keyfile
from glossator.core.errors import BadInput, GlossatorError, StorageProblem
from glossator.serve.auth import keys as module
from glossator.serve.auth.keys import Caller, Forbidden, KeyRing, KeysDamaged, Scope, Unauthorized, web_origin

READ, WRITE, ADMIN = Scope.READ, Scope.WRITE, Scope.ADMIN
SITE = "https://docs.example.org"
SHAPE = re.compile(r"gl_([0-9a-f]{16})_([0-9a-f]{64})")
HOSTILE = [
    "",
    " ",
    "gl_",
    "gl__",
    "gl_" + "0" * 16 + "_" + "0" * 64,
    "gl_" + "a" * 1_000_000,
    "a" * 1_000_000,
    "a." * 500_000,
    "..",
    "a.b.c",
    "\0",
    "gl_\0_\0",
    "gl_" + "٠" * 16 + "_" + "٠" * 64,
    "schlüssel",
    "\ud800",
    "gl_\udfff_x",
    "a.\ud800.c",
    "line\nfeed",
    "\r\nX-Header: 1",
    "e30.e30.",
    "e30.e30.e30",
    base64.urlsafe_b64encode(b"[" * 2000).decode() + ".e30.e30",
]


@pytest.fixture
def path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder / "data" / "keys.json"


@pytest.fixture
def ring(path: Path) -> KeyRing:
    return KeyRing(path)


@pytest.fixture
def watchful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rings look at their file every time."""
    monkeypatch.setattr(module, "CHECK_EVERY", 0.0)


def id_of(key: str) -> str:
    found = SHAPE.fullmatch(key)
    assert found
    return found[1]


def refused(ring: KeyRing, presented: str, origin: str | None = None) -> bool:
    """Whether it is refused, in the one way that tells nothing."""
    with pytest.raises(Unauthorized) as caught:
        ring.caller(presented, origin)
    return str(caught.value) == "A valid key is needed. Send it as `Authorization: Bearer KEY`."


def stored(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def rewrite(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(stored(path) | changes), "utf-8")


def told(error: BaseException) -> str:
    """All that a log could show of an error, with those behind it."""
    chain: list[BaseException] = []
    each: BaseException | None = error
    while each is not None:
        chain.append(each)
        each = each.__cause__ or each.__context__
    texts = [f"{link!r} {link} {link.args} {vars(link)}" for link in chain]
    return "\n".join([*texts, *traceback.format_exception(error)])


# Keys


def test_without_keys_everybody_may_do_everything(ring: KeyRing, path: Path) -> None:
    assert ring.is_open
    assert ring.all() == ()
    for presented in HOSTILE:
        assert ring.caller(presented, None) == Caller("open", None, frozenset(Scope))
    assert not path.parent.exists()


def test_the_first_key_closes_the_door(ring: KeyRing) -> None:
    key = ring.create("reader", [READ])
    assert not ring.is_open
    assert refused(ring, "")
    assert ring.caller(key, None) == Caller(id_of(key), None, frozenset({READ}))
    assert ring.caller(key, "https://anywhere.example") == ring.caller(key, None)


def test_a_key_carries_its_user_and_all_that_its_scopes_include(ring: KeyRing) -> None:
    caller = ring.caller(ring.create("all", [ADMIN], user="zoë 🌙"), None)
    assert (caller.user_id, caller.scopes) == ("zoë 🌙", frozenset(Scope))
    assert ring.caller(ring.create("two", ["write", "write"]), None).scopes == {READ, WRITE}


@pytest.mark.parametrize(("own", "allowed"), [(READ, {READ}), (WRITE, {READ, WRITE}), (ADMIN, {READ, WRITE, ADMIN})])
def test_admin_implies_write_implies_read(own: Scope, allowed: set[Scope]) -> None:
    caller = Caller("someone", None, frozenset({own}))
    assert {scope for scope in Scope if caller.may(scope)} == allowed
    for scope in Scope:
        if scope in allowed:
            caller.need(scope)
        else:
            with pytest.raises(Forbidden, match=f"`{scope}`"):
                caller.need(scope)
    assert not Caller("nobody", None, frozenset()).may(READ)


def test_keys_are_told_oldest_first_and_survive_a_restart(ring: KeyRing, path: Path) -> None:
    made = [ring.create(name, [WRITE, READ], user="u", days=2) for name in ("one", "two")]
    found = KeyRing(path).all()
    assert found == ring.all()
    assert [(key.id, key.name, key.scopes, key.user) for key in found] == [
        (id_of(made[0]), "one", (READ, WRITE), "u"),
        (id_of(made[1]), "two", (READ, WRITE), "u"),
    ]
    assert all(key.expires == key.created + timedelta(days=2) and not key.expired for key in found)
    assert [KeyRing(path).caller(key, None).name for key in made] == [id_of(key) for key in made]


def test_a_revoked_key_is_worthless_and_the_others_stay(ring: KeyRing, path: Path) -> None:
    first, second = ring.create("one", [READ]), ring.create("two", [READ])
    ring.revoke(id_of(first))
    for each in (ring, KeyRing(path)):
        assert refused(each, first)
        assert each.caller(second, None).name == id_of(second)


def test_the_last_key_is_not_revoked_for_that_would_open_the_door(ring: KeyRing) -> None:
    key = ring.create("only", [READ])
    with pytest.raises(BadInput, match="last key"):
        ring.revoke(id_of(key))
    assert ring.caller(key, None).name == id_of(key)


def test_an_unknown_id_is_not_repeated(ring: KeyRing) -> None:
    key = ring.create("one", [READ])
    for wrong in (key, "", "0" * 16, "\ud800", "x" * 100_000):
        with pytest.raises(BadInput, match="No key has this id") as caught:
            ring.revoke(wrong)
        assert key not in told(caught.value)


def test_an_expired_key_is_refused_but_keeps_the_door_shut(ring: KeyRing, path: Path) -> None:
    key = ring.create("short", [ADMIN], days=1)
    (entry,) = stored(path)["keys"]
    rewrite(path, keys=[entry | {"expires": (datetime.now(UTC) - timedelta(seconds=1)).isoformat()}])
    later = KeyRing(path)
    assert not later.is_open
    assert later.all()[0].expired
    assert refused(later, key)


def test_every_part_of_a_key_counts(ring: KeyRing) -> None:
    key, other = ring.create("one", [READ]), ring.create("two", [READ])
    _, key_id, secret = key.split("_")
    flipped = "0" if secret[-1] != "0" else "1"
    wrong = [
        f"gl_{key_id}_{secret[:-1]}{flipped}",
        f"gl_{id_of(other)}_{secret}",
        f"gl_{'f' * 16}_{secret}",
        f"gl_{key_id}_{secret.upper()}X",
        f"gl_{key_id}_",
        f"gl_{key_id}_{hashlib.sha256(key.encode()).hexdigest()}",
        key[:-1],
        key + "0",
        key + "\n",
        " " + key,
        key.upper(),
        key.replace("_", "-"),
    ]
    assert all(refused(ring, each) for each in wrong)


def test_a_key_with_an_unknown_id_is_compared_like_any_other(ring: KeyRing, monkeypatch: pytest.MonkeyPatch) -> None:
    key = ring.create("one", [READ])
    lengths: list[tuple[int, int]] = []

    def compare(one: str, other: str) -> bool:
        lengths.append((len(one), len(other)))
        return one == other

    monkeypatch.setattr(hmac, "compare_digest", compare)
    for presented in (f"gl_{id_of(key)}_{'0' * 64}", f"gl_{'0' * 16}_{'0' * 64}"):
        assert refused(ring, presented)
    assert lengths == [(64, 64)] * 2


@pytest.mark.parametrize("text", ["", "x" * 201, "a\0b", "a\nb", "a\x7fb", "a\x85b", "a\u2028b", "\ud800", "\x1b[31m"])
def test_names_and_users_are_text(ring: KeyRing, path: Path, text: str) -> None:
    attempts: list[Callable[[], str]] = [
        lambda: ring.create(text, [READ]),
        lambda: ring.create("name", [READ], user=text),
        lambda: ring.token(SITE, user=text),
    ]
    for make in attempts:
        with pytest.raises(BadInput, match="not a text of 1 to 200 characters") as caught:
            make()
        assert text == "" or text not in str(caught.value)
    assert not path.exists()


@pytest.mark.parametrize("scopes", [[], ["root"], "read", ["READ"], [""], ["read", "\0"]])
def test_scopes_are_known_ones(ring: KeyRing, scopes: Any) -> None:
    with pytest.raises(BadInput, match="no scopes"):
        ring.create("name", scopes)
    assert ring.is_open


@pytest.mark.parametrize("days", [0, -1, 3651, float("nan"), float("inf"), 10**400])
def test_days_are_within_bounds(ring: KeyRing, days: float) -> None:
    with pytest.raises(BadInput, match="so many days"):
        ring.create("name", [READ], days=days)
    assert ring.is_open


# The file


def test_the_file_is_for_its_owner_alone_whatever_the_umask(ring: KeyRing, path: Path) -> None:
    before = os.umask(0)
    try:
        ring.create("one", [READ])
        os.umask(0o777)
        ring.create("two", [READ])
    finally:
        os.umask(before)
    assert {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()} == {
        "keys.json": 0o600,
        "keys.lock": 0o600,
    }


def test_a_file_that_others_can_read_is_told_of_and_mended(
    ring: KeyRing, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ring.create("one", [READ])
    path.chmod(0o644)
    again = KeyRing(path)
    assert caplog.text.count("chmod 600") == 1
    again.create("two", [READ])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert caplog.text.count("chmod 600") == 1


def test_of_a_key_the_file_holds_its_hash_alone(ring: KeyRing, path: Path) -> None:
    key = ring.create("one", [READ], user="u")
    text = path.read_text("utf-8")
    assert key not in text
    assert key.split("_")[2] not in text
    found = stored(path)
    assert found["format"] == 1
    assert re.fullmatch("[0-9a-f]{64}", found["secret"])
    (entry,) = found["keys"]
    assert entry["hash"] == hashlib.sha256(key.encode()).hexdigest()
    assert entry.keys() == {"id", "name", "scopes", "user", "created", "expires", "hash"}


def test_nothing_shows_a_secret(ring: KeyRing, path: Path, watchful: None, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    key, other = ring.create("one", [READ]), ring.create("two", [READ])
    token = ring.token(SITE, user="u")
    good = stored(path)
    hidden = [key.split("_")[2], other.split("_")[2], token, token.split(".")[2], good["secret"]]
    hidden += [entry["hash"] for entry in good["keys"]]
    shown = [repr(ring), repr(vars(ring)), repr(ring.all()), repr(ring.caller(key, None))]
    shown.append(repr(ring.caller(token, SITE)))
    attempts: list[Callable[[], object]] = [
        lambda: ring.caller(key[:-1], None),
        lambda: ring.caller(f"gl_{id_of(key)}_{other.split('_')[2]}", None),
        lambda: ring.caller(token, "https://other.example"),
        lambda: ring.caller(token[:-2], SITE),
        lambda: ring.caller(token, None),
        lambda: ring.revoke(key),
        lambda: ring.token(key),
    ]
    for broken in (path.read_bytes()[:-3], json.dumps(good | {"format": 2}).encode(), json.dumps([good]).encode()):
        attempts.append(lambda broken=broken: path.write_bytes(broken) and KeyRing(path))  # type: ignore[misc]
        attempts.append(lambda: ring.create("three", [READ]))
    for attempt in attempts:
        with pytest.raises(GlossatorError) as caught:
            attempt()
        shown.append(told(caught.value))
    assert ring.caller(key, None).name == id_of(key)
    assert caplog.text
    everything = "\n".join([*shown, caplog.text])
    assert [secret for secret in hidden if secret in everything] == []


def test_a_write_is_on_disk_before_it_takes_the_place(
    ring: KeyRing, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    sync, swap = os.fsync, Path.replace

    def fsync(descriptor: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    def replace(own: Path, target: Path) -> Path:
        steps.append("replace")
        return swap(own, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    ring.create("one", [READ])
    assert steps == ["file", "replace", "folder"]


def test_a_failed_write_changes_nothing(ring: KeyRing, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = ring.create("one", [READ])
    before = path.read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for attempt in (lambda: ring.create("two", [READ]), ring.rotate):
        with pytest.raises(StorageProblem, match="disk is full"):
            attempt()
    assert path.read_bytes() == before
    assert sorted(each.name for each in path.parent.iterdir()) == ["keys.json", "keys.lock"]
    assert ring.caller(key, None).name == id_of(key)


def test_what_a_killed_writer_left_is_in_nobodys_way(ring: KeyRing, path: Path) -> None:
    path.parent.mkdir()
    path.with_suffix(".next").write_text("half", "utf-8")
    path.with_suffix(".next").chmod(0o644)
    ring.create("one", [READ])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(KeyRing(path).all()) == 1


def test_a_folder_that_cannot_be_written_is_told(path: Path) -> None:
    ring = KeyRing(path)
    path.parent.write_text("a file", "utf-8")
    with pytest.raises(StorageProblem, match="cannot be written"):
        ring.create("one", [READ])


def test_a_writer_that_never_ends_is_not_waited_for_for_ever(
    ring: KeyRing, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = ring.create("one", [READ])
    monkeypatch.setattr(keyfile, "_LOCK_SECONDS", 0.05)
    with path.with_suffix(".lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StorageProblem, match="Another process is changing"):
            ring.create("two", [READ])
        assert ring.caller(key, None).name == id_of(key)
    ring.create("two", [READ])


def test_processes_that_create_keys_at_once_lose_none(path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from glossator.serve.auth.keys import KeyRing;"
        "ring = KeyRing(Path(sys.argv[1]));"
        "[print(ring.create(f'{sys.argv[2]} {n}', ['read'])) for n in range(5)]"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", script, path, str(n)], stdout=subprocess.PIPE, text=True)
        for n in range(4)
    ]
    made = [key for process in started for key in process.communicate(timeout=120)[0].split()]
    assert [process.returncode for process in started] == [0] * 4
    ring = KeyRing(path)
    assert len(made) == len(set(made)) == 20
    assert {key.id for key in ring.all()} == {id_of(key) for key in made}
    assert all(ring.caller(key, None).name == id_of(key) for key in made)


def test_threads_of_one_ring_lose_nothing_either(ring: KeyRing, watchful: None) -> None:
    first = ring.create("first", [READ])

    def work(number: int) -> str:
        key = ring.create(str(number), [READ])
        assert ring.caller(first, None).name == id_of(first)
        assert ring.caller(key, None).name == id_of(key)
        return key

    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(work, range(12)))
    assert {key.id for key in ring.all()} == {id_of(key) for key in [first, *made]}


def damages(good: dict[str, Any]) -> dict[str, bytes]:
    (entry,) = good["keys"]

    def file(**changes: object) -> bytes:
        return json.dumps(good | changes).encode()

    def key(**changes: object) -> bytes:
        return file(keys=[entry | changes])

    return {
        "nothing": b"",
        "half": file()[:-20],
        "NUL": b"\0" * 500,
        "not text": b"\xff\xfe\xfa",
        "null": b"null",
        "a list": b"[]",
        "an empty object": b"{}",
        "deep": b"[" * 100_000,
        "no keys": json.dumps({"format": 1, "secret": good["secret"]}).encode(),
        "keys that are none": file(keys=[1]),
        "keys as an object": file(keys={}),
        "a short secret": file(secret="abc"),  # noqa: S106 - none at all
        "an empty secret": file(secret=""),
        "no secret": file(secret=None),
        "the same key twice": file(keys=[entry, entry]),
        "something unknown": file(more=1),
        "something unknown of a key": key(revoked=True),
        "a short id": key(id="abc"),
        "a hash that is none": key(hash="x" * 64),
        "a hash with a line end": key(hash=entry["hash"] + "\n"),
        "no scopes": key(scopes=[]),
        "an unknown scope": key(scopes=["root"]),
        "a user that is no text": key(user="a\nb"),
        "a user that is a number": key(user=5),
        "half a character": key(user="\ud800"),
        "no time": key(expires="soon"),
        "a time without a zone": key(expires="2099-01-01T00:00:00"),
        "a format in words": file(format="one"),
    }


EXAMPLE = {"id": "0" * 16, "name": "n", "scopes": ["read"], "user": None, "hash": "0" * 64}
EXAMPLE |= {"created": "2026-01-01T00:00:00Z", "expires": None}
DAMAGES = damages({"format": 1, "secret": "0" * 64, "keys": [EXAMPLE]})


@pytest.mark.parametrize("raw", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_an_error_and_is_left_as_it_is(path: Path, raw: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(raw)
    with pytest.raises(KeysDamaged, match="is damaged") as caught:
        KeyRing(path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == raw


def test_the_examples_of_damage_start_from_a_good_file(path: Path) -> None:
    path.parent.mkdir()
    path.write_text(json.dumps({"format": 1, "secret": "0" * 64, "keys": [EXAMPLE]}), "utf-8")
    assert KeyRing(path).all()[0].id == EXAMPLE["id"]


def test_another_version_is_told_apart_from_damage(ring: KeyRing, path: Path) -> None:
    ring.create("one", [READ])
    rewrite(path, format=2, more="of it")
    with pytest.raises(KeysDamaged, match="another version"):
        KeyRing(path)
    with pytest.raises(KeysDamaged, match="another version"):
        ring.create("two", [READ])


def test_what_is_no_file_never_opens_the_door(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(KeysDamaged, match="cannot be read"):
        KeyRing(path)
    path.rmdir()
    path.symlink_to(path.parent / "elsewhere.json")
    with pytest.raises(KeysDamaged, match="leads nowhere"):
        KeyRing(path)


# While serving


def test_a_running_server_notices_new_revoked_and_rotated_keys(path: Path, watchful: None) -> None:
    server, operator = KeyRing(path), KeyRing(path)
    assert server.is_open
    first = operator.create("one", [READ])
    assert not server.is_open
    assert server.caller(first, None).name == id_of(first)
    second = operator.create("two", [READ])
    operator.revoke(id_of(first))
    assert refused(server, first)
    assert server.caller(second, None).name == id_of(second)
    token = server.token(SITE)
    operator.rotate()
    assert refused(server, token, SITE)


def test_the_file_is_looked_at_once_a_second_and_read_when_it_changed(
    ring: KeyRing, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = ring.create("one", [READ])
    now = time.monotonic() + 10
    looks: list[str] = []
    look, read = module._stamp_at, module._read
    monkeypatch.setattr(time, "monotonic", lambda: now)

    def noted(name: str, work: Callable[[Path], Any]) -> Callable[[Path], Any]:
        def noting(path: Path) -> Any:
            looks.append(name)
            return work(path)

        return noting

    monkeypatch.setattr(module, "_stamp_at", noted("stat", look))
    monkeypatch.setattr(module, "_read", noted("read", read))
    for _ in range(100):
        ring.caller(key, None)
    assert looks == ["stat"]
    now += 0.9
    ring.caller(key, None)
    assert looks == ["stat"]
    rewrite(path, secret="1" * 64)
    now += 0.2
    ring.caller(key, None)
    ring.caller(key, None)
    assert looks == ["stat", "stat", "read"]


@pytest.mark.parametrize("raw", [*DAMAGES.values(), None], ids=[*DAMAGES, "gone"])
def test_keys_stay_in_force_when_their_file_breaks(
    ring: KeyRing, path: Path, watchful: None, caplog: pytest.LogCaptureFixture, raw: bytes | None
) -> None:
    key, token = ring.create("one", [WRITE]), ring.token(SITE)
    good = path.read_bytes()
    path.write_bytes(raw) if raw is not None else path.unlink()
    for _ in range(3):
        assert not ring.is_open
        assert refused(ring, "")
        assert refused(ring, "gl_" + "0" * 16 + "_" + "0" * 64)
        assert ring.caller(key, None).name == id_of(key)
        assert ring.caller(token, SITE).name == "widget"
        assert ring.caller(ring.token(SITE), SITE).name == "widget"
    assert [record.levelname for record in caplog.records if record.levelname == "ERROR"] == ["ERROR"]
    for change in (lambda: ring.create("two", [READ]), ring.rotate, lambda: ring.revoke(id_of(key))):
        with pytest.raises(KeysDamaged):
            change()
    assert not path.exists() if raw is None else path.read_bytes() == raw
    path.write_bytes(good)
    path.chmod(0o600)
    ring.create("two", [READ])
    assert [each.name for each in ring.all()] == ["one", "two"]
    assert ring.caller(token, SITE).name == "widget"


def test_a_file_emptied_by_hand_does_not_open_the_door(ring: KeyRing, path: Path, watchful: None) -> None:
    key = ring.create("one", [READ])
    rewrite(path, keys=[])
    assert not ring.is_open
    assert ring.caller(key, None).name == id_of(key)
    with pytest.raises(KeysDamaged, match="no keys any more"):
        ring.rotate()
    assert KeyRing(path).is_open


def test_new_keys_take_the_place_of_lost_ones(ring: KeyRing, path: Path, watchful: None) -> None:
    old = ring.create("old", [READ])
    path.unlink()
    assert ring.caller(old, None).name == id_of(old)
    new = KeyRing(path).create("new", [READ])
    assert refused(ring, old)
    assert ring.caller(new, None).name == id_of(new)


def test_a_file_that_appears_damaged_shuts_the_door(path: Path, watchful: None) -> None:
    ring = KeyRing(path)
    assert ring.is_open
    path.parent.mkdir()
    path.write_bytes(b"{")
    assert not ring.is_open
    assert refused(ring, "")
    with pytest.raises(KeysDamaged):
        ring.token(SITE)
    path.unlink()
    assert not ring.is_open
    key = KeyRing(path).create("one", [READ])
    assert ring.caller(key, None).name == id_of(key)


def test_a_data_directory_that_goes_away_shuts_no_key_out(ring: KeyRing, path: Path, watchful: None) -> None:
    key = ring.create("one", [READ])
    path.parent.rename(path.parent.with_name("moved"))
    path.parent.write_text("a file in its place", "utf-8")
    assert not ring.is_open
    assert ring.caller(key, None).name == id_of(key)


# Tokens


@pytest.fixture
def closed(ring: KeyRing) -> KeyRing:
    ring.create("one", [ADMIN])
    return ring


def signed(claims: dict[str, Any], secret: str, algorithm: str = "HS256") -> str:
    now = int(time.time())
    whole = {"aud": SITE, "iat": now, "exp": now + 600} | claims
    return jwt.encode({name: value for name, value in whole.items() if value is not None}, secret, algorithm)


def test_a_token_reads_and_writes_for_its_user_from_its_origin(closed: KeyRing, path: Path) -> None:
    token = closed.token(SITE, user="zoë")
    assert closed.caller(token, SITE) == Caller("widget", "zoë", frozenset({READ, WRITE}))
    assert KeyRing(path).caller(token, SITE).user_id == "zoë"
    assert closed.caller(closed.token(SITE), SITE).user_id is None
    claims = jwt.decode(token, options={"verify_signature": False})
    assert claims == {"aud": SITE, "sub": "zoë", "iat": claims["iat"], "exp": claims["iat"] + 900}
    assert jwt.get_unverified_header(token)["alg"] == "HS256"


def test_a_token_made_before_the_first_key_is_good_after_it(ring: KeyRing, path: Path) -> None:
    token = ring.token(SITE)
    assert ring.is_open
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert KeyRing(path).is_open
    ring.create("one", [READ])
    assert ring.caller(token, SITE).name == "widget"


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "",
        "null",
        "*",
        "http://docs.example.org",
        "https://docs.example.org:8443",
        "https://docs.example.org/",
        "https://docs.example.org.evil.example",
        "https://evil.example",
        "https://example.org",
        "https://docs.example.org\0",
        "https://docs.example.org\n",
        "HTTPS://docs.example.org",
        "\ud800",
        "x" * 1_000_000,
    ],
)
def test_a_token_is_refused_from_any_other_origin(closed: KeyRing, origin: str | None) -> None:
    assert refused(closed, closed.token(SITE), origin)


@pytest.mark.parametrize("seconds", [59, 3601, 0, -1, float("nan"), float("inf"), 10**400])
def test_a_token_lasts_a_minute_to_an_hour(closed: KeyRing, seconds: Any) -> None:
    with pytest.raises(BadInput, match="from 60 to 3600 seconds"):
        closed.token(SITE, seconds=seconds)
    for allowed in (60, 3600):
        claims = jwt.decode(closed.token(SITE, seconds=allowed), options={"verify_signature": False})
        assert claims["exp"] - claims["iat"] == allowed


def test_the_longest_user_and_origin_fit_in_a_token(closed: KeyRing) -> None:
    origin = "https://" + ".".join(["a" * 63] * 3 + ["b" * 61]) + ":65535"
    assert closed.caller(closed.token(origin, user="🌙" * 200), origin).user_id == "🌙" * 200


def test_what_the_server_would_sign_itself_is_accepted_so_that_the_next_test_means_something(
    closed: KeyRing, path: Path
) -> None:
    assert closed.caller(signed({"sub": "u"}, stored(path)["secret"]), SITE).user_id == "u"


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": int(time.time()) - 1},
        {"exp": None},
        {"exp": "never"},
        {"exp": []},
        {"exp": True},
        {"iat": None},
        {"iat": int(time.time()) + 1000},
        {"iat": "now"},
        {"aud": None},
        {"aud": ""},
        {"aud": [SITE]},
        {"aud": {SITE: 1}},
        {"aud": "*"},
        {"aud": "null"},
        {"aud": "https://evil.example"},
        {"sub": 5},
        {"sub": ["u"]},
        {"nbf": int(time.time()) + 1000},
    ],
)
def test_a_token_with_other_claims_is_refused(closed: KeyRing, path: Path, claims: dict[str, Any]) -> None:
    assert refused(closed, signed(claims, stored(path)["secret"]), SITE)


def test_tampered_tokens_are_refused(closed: KeyRing, path: Path) -> None:
    secret = stored(path)["secret"]
    header, payload, signature = closed.token(SITE, user="u").split(".")
    other = closed.token("https://evil.example", user="u").split(".")
    none = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').decode().rstrip("=")
    wrong = [
        f"{header}.{other[1]}.{signature}",
        f"{header}.{payload}.{other[2]}",
        f"{header}.{payload}.",
        f"{header}.{payload}",
        f"{none}.{payload}.",
        f"{none}.{payload}.{signature}",
        f"{header}.{payload}.{signature}.{signature}",
        f"{header}.{payload}.{signature}=",
        f"{header}.{payload}.{signature}\n",
        signed({}, "", "none"),
        signed({}, secret, "HS384"),
        signed({}, secret, "HS512"),
        signed({}, secret.upper() + "0"),
        signed({}, "0" * 64),
        jwt.encode({"aud": SITE}, secret, headers={"alg": "HS512"}),
    ]
    assert [token for token in wrong if not refused(closed, token, SITE)] == []


def test_a_token_signed_with_a_public_key_algorithm_is_refused(closed: KeyRing) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    now = int(time.time())
    token = jwt.encode({"aud": SITE, "iat": now, "exp": now + 600}, Ed25519PrivateKey.generate(), "EdDSA")
    assert refused(closed, token, SITE)


def test_rotating_makes_tokens_worthless_but_no_key(ring: KeyRing, path: Path) -> None:
    key, token = ring.create("one", [READ]), ring.token(SITE)
    before = stored(path)
    ring.rotate()
    after = stored(path)
    assert before["secret"] != after["secret"]
    assert before["keys"] == after["keys"]
    assert refused(ring, token, SITE)
    assert ring.caller(key, None).name == id_of(key)
    assert ring.caller(ring.token(SITE), SITE).name == "widget"


def test_there_is_nothing_to_rotate_without_a_file(ring: KeyRing, path: Path) -> None:
    with pytest.raises(BadInput, match="no keys and no tokens yet"):
        ring.rotate()
    assert not path.exists()


def test_a_token_of_another_file_is_refused(closed: KeyRing, path: Path) -> None:
    other = KeyRing(path.parent / "other" / "keys.json")
    assert refused(closed, other.token(SITE), SITE)


@pytest.mark.parametrize(
    ("given_origin", "normal"),
    [
        ("https://example.org", "https://example.org"),
        ("HTTPS://Docs.Example.ORG", "https://docs.example.org"),
        ("https://example.org:443", "https://example.org"),
        ("http://example.org:80", "http://example.org"),
        ("https://example.org:80", "https://example.org:80"),
        ("http://localhost:03000", "http://localhost:3000"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://[0:0::1]:8000", "http://[::1]:8000"),
        ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
    ],
)
def test_origins_become_what_browsers_send(closed: KeyRing, given_origin: str, normal: str) -> None:
    assert web_origin(given_origin) == normal
    assert web_origin(normal) == normal
    assert closed.caller(closed.token(given_origin), normal).name == "widget"


@pytest.mark.parametrize(
    "origin",
    [
        *HOSTILE,
        "null",
        "*",
        "https://*",
        "https://*.example.org",
        "https://",
        "https://.",
        "https://.org",
        "https://example.org.",
        "https://example..org",
        "https://example.org/",
        "https://example.org/path",
        "https://example.org?q",
        "https://example.org#f",
        "https://user@example.org",
        "https://user:pass@example.org",
        "https://example.org:",
        "https://example.org:0",
        "https://example.org:65536",
        "https://example.org:99999999",
        "https://example.org:٤٤٣",
        "https://example.org\n",
        "https://example.org\0",
        " https://example.org",
        "https://exa mple.org",
        "https://bücher.example",
        "https://\u212aelvin.example",
        "https://example.org\\@evil.example",
        "https://[::1",
        "https://[::1%25eth0]",
        "https://[zz]",
        "https://[1.2.3.4]",
        "https://" + "a" * 64 + ".example",
        "https://" + "a." * 130 + "example",
        "//example.org",
        "example.org",
        "ftp://example.org",
        "file:///etc/passwd",
        "javascript://example.org",
        "chrome-extension://abcdef",
    ],
)
def test_what_is_no_web_origin_gets_no_token(closed: KeyRing, origin: str) -> None:
    with pytest.raises(BadInput, match="not the origin of a web page"):
        closed.token(origin)


# Hostile input


@pytest.fixture(scope="module")
def guarded() -> Iterator[tuple[KeyRing, str, str]]:
    """A closed ring with one key of its own and its secret; hypothesis shares it between examples."""
    with quick_folder() as folder:
        ring = KeyRing(folder / "keys.json")
        key = ring.create("one", [ADMIN])
        yield ring, key, stored(folder / "keys.json")["secret"]


@pytest.mark.parametrize("presented", HOSTILE)
@pytest.mark.parametrize("origin", [None, SITE, "\ud800", "\0", "x" * 1_000_000])
def test_hostile_input_is_refused(guarded: tuple[KeyRing, str, str], presented: str, origin: str | None) -> None:
    started = time.perf_counter()
    assert refused(guarded[0], presented, origin)
    assert time.perf_counter() - started < 1


anything = st.text(st.characters(), max_size=300) | st.text(
    st.characters(categories=["Cs", "Cc", "Nd", "Lu"]), max_size=50
)


@given(presented=anything, origin=st.none() | anything | st.just(SITE))
def test_no_text_opens_the_door(guarded: tuple[KeyRing, str, str], presented: str, origin: str | None) -> None:
    assert refused(guarded[0], presented, origin)
    assert refused(guarded[0], "gl_" + presented, origin)


@given(data=st.data())
def test_no_change_of_a_key_opens_the_door(guarded: tuple[KeyRing, str, str], data: st.DataObject) -> None:
    ring, key, _ = guarded
    place = data.draw(st.integers(0, len(key)))
    end = data.draw(st.integers(place, len(key)))
    changed = key[:place] + data.draw(st.text(max_size=5)) + key[end:]
    if changed != key:
        assert refused(ring, changed, SITE)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3),
    max_leaves=8,
)


def segment(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@given(
    header=values | st.fixed_dictionaries({"alg": values | st.just("HS256")}, optional={"crit": values, "b64": values}),
    payload=values,
    signature=st.binary(max_size=70),
)
def test_no_made_up_token_opens_the_door(
    guarded: tuple[KeyRing, str, str], header: object, payload: object, signature: bytes
) -> None:
    ending = base64.urlsafe_b64encode(signature).decode().rstrip("=")
    assert refused(guarded[0], f"{segment(header)}.{segment(payload)}.{ending}", SITE)


@given(claims=st.dictionaries(st.sampled_from(["exp", "iat", "aud"]), values, min_size=1))
def test_strange_claims_break_nothing_even_if_signed(
    guarded: tuple[KeyRing, str, str], claims: dict[str, object]
) -> None:
    ring, _, secret = guarded
    now = int(time.time())
    whole = {"aud": SITE, "iat": now, "exp": now + 600} | claims
    encoded = f"{segment({'alg': 'HS256', 'typ': 'JWT'})}.{segment(whole)}"
    digest = hmac.new(secret.encode(), encoded.encode(), hashlib.sha256).digest()
    token = f"{encoded}.{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"
    try:
        caller = ring.caller(token, SITE)
    except Unauthorized:
        return
    assert caller.scopes == {READ, WRITE}
    assert whole["aud"] == SITE


@given(
    name=st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=200),
    user=st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=200),
)
def test_every_text_can_be_a_user(guarded: tuple[KeyRing, str, str], name: str, user: str) -> None:
    ring = guarded[0]
    token = ring.token(SITE, user=user)
    assert ring.caller(token, SITE).user_id == user
    key = ring.create(name, [READ], user=user)
    try:
        assert ring.caller(key, None).user_id == user
        assert KeyRing(ring.path).all() == ring.all()
        assert ring.all()[-1].name == name
    finally:
        ring.revoke(id_of(key))


# Commands


def command(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(keys_command, [*arguments, "--data-dir", str(path.parent)])


def made(path: Path, *arguments: str) -> str:
    """A key from the command line: alone on standard output."""
    result = command(path, "create", *arguments)
    assert result.exit_code == 0
    assert "not shown again" in result.stderr
    assert SHAPE.fullmatch(result.stdout.removesuffix("\n"))
    return result.stdout.removesuffix("\n")


def test_create_prints_the_key_alone_and_the_warning_beside_it(path: Path) -> None:
    result = command(path, "create", "first")
    key = result.stdout.removesuffix("\n")
    assert "the first" in result.stderr
    assert key not in result.stderr
    assert KeyRing(path).caller(key, None).scopes == {READ}
    other = command(path, "create", "second")
    assert "the first" not in other.stderr


def test_create_takes_scopes_user_and_days(path: Path) -> None:
    key = made(path, "ci", "--scope", "write", "--scope", "admin", "--user", "zoë", "--days", "30")
    ring = KeyRing(path)
    (found,) = ring.all()
    assert (found.name, found.scopes, found.user) == ("ci", (WRITE, ADMIN), "zoë")
    assert found.expires == found.created + timedelta(days=30)
    assert ring.caller(key, None).may(ADMIN)


def test_create_as_json_prints_json_and_nothing_else(path: Path) -> None:
    result = command(path, "create", "ci", "--json")
    found = json.loads(result.stdout)
    assert result.stderr == ""
    assert list(found) == ["id", "name", "scopes", "user", "created", "expires", "expired", "key"]
    assert (found["id"], found["name"], found["scopes"], found["user"]) == (id_of(found["key"]), "ci", ["read"], None)
    assert KeyRing(path).caller(found["key"], None).name == found["id"]


def test_list_shows_everything_but_the_secrets(path: Path) -> None:
    assert command(path, "list").stdout == "No keys: everybody may do everything.\n"
    assert json.loads(command(path, "list", "--json").stdout) == []
    assert not path.exists()
    key = made(path, "ci", "--user", "zoë", "--days", "1")
    shown, as_json = command(path, "list").stdout, command(path, "list", "--json").stdout
    for text in (shown, as_json):
        assert all(word in text for word in (id_of(key), "ci", "read", "zoë"))
        assert key not in text
        assert key.split("_")[2] not in text
        assert stored(path)["keys"][0]["hash"] not in text
        assert stored(path)["secret"] not in text
    (entry,) = stored(path)["keys"]
    rewrite(path, keys=[entry | {"expires": "2020-01-01T00:00:00Z"}])
    path.chmod(0o600)
    assert "expired" in command(path, "list").stdout
    assert json.loads(command(path, "list", "--json").stdout)[0]["expired"] is True


def test_revoke_and_rotate(path: Path) -> None:
    first, second = made(path, "one"), made(path, "two")
    token = KeyRing(path).token(SITE)
    assert command(path, "revoke", id_of(first)).stdout == f"The key {id_of(first)} is revoked.\n"
    assert refused(KeyRing(path), first)
    assert command(path, "rotate").stdout == "Every widget token is worthless now.\n"
    assert refused(KeyRing(path), token, SITE)
    assert json.loads(command(path, "rotate", "--json").stdout) == {"rotated": True}
    made(path, "three")
    assert json.loads(command(path, "revoke", id_of(second), "--json").stdout) == {"revoked": id_of(second)}


def test_commands_refuse_what_cannot_work(path: Path) -> None:
    assert command(path, "create", "x", "--scope", "root").exit_code == 2
    assert command(path, "create", "x", "--days", "0").exit_code == 2
    assert isinstance(command(path, "create", "").exception, BadInput)
    assert isinstance(command(path, "create", "x", "--user", "a\nb").exception, BadInput)
    assert isinstance(command(path, "rotate").exception, BadInput)
    assert isinstance(command(path, "revoke", "0" * 16).exception, BadInput)
    assert KeyRing(path).is_open
    key = made(path, "only")
    assert isinstance(command(path, "revoke", id_of(key)).exception, BadInput)
    result = command(path, "revoke", key)
    assert isinstance(result.exception, BadInput)
    assert key not in result.output + told(result.exception)
    path.write_text("{", "utf-8")
    for arguments in (["create", "x"], ["list"], ["revoke", "x"], ["rotate"]):
        assert isinstance(command(path, *arguments).exception, KeysDamaged)


def test_the_command_knows_every_scope(path: Path) -> None:
    for scope in Scope:
        key = made(path, scope.value, "--scope", scope.value)
        caller = KeyRing(path).caller(key, None)
        assert (caller.name, caller.may(scope)) == (id_of(key), True)
