"""The store that is a directory."""

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from certs import entries, files, pairs
from certs.converge import Outcome, converge
from certs.errors import Conflict, Exists
from certs.files import FileStore
from certs.policy import Policy
from certs.rotation import Action
from certs.state import bundle
from tests.certs.tls_clients import handshake

SERVICE = "modelfit.default.svc"
ONE = {"tls.crt": b"certificate 1", "tls.key": b"key 1", "ca.crt": b"bundle 1"}
TWO = {"tls.crt": b"certificate 2", "tls.key": b"key 2", "ca.key": b"authority key 2"}


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / "certs")


def data(store: FileStore) -> Mapping[str, bytes] | None:
    found = store.read()
    return None if found is None else found.data


def version(store: FileStore) -> str:
    found = store.read()
    assert found is not None
    return found.version


def opened(store: FileStore) -> dict[str, bytes]:
    """What a program finds that knows nothing of generations."""
    return {path.name: path.read_bytes() for path in store.directory.iterdir() if not path.name.startswith("..")}


def test_nothing_is_stored_in_a_directory_that_is_missing_or_empty(store: FileStore) -> None:
    assert store.read() is None
    store.directory.mkdir()
    assert store.read() is None


def test_what_is_created_can_be_read_and_opened(store: FileStore) -> None:
    store.create(ONE)
    assert data(store) == ONE
    assert opened(store) == ONE


def test_a_second_creation_is_refused_and_changes_nothing(store: FileStore) -> None:
    store.create(ONE)
    with pytest.raises(Exists):
        store.create(TWO)
    assert data(store) == ONE


def test_a_write_replaces_every_entry_and_removes_those_that_are_gone(store: FileStore) -> None:
    store.create(ONE)
    store.write(TWO, version(store))
    assert data(store) == TWO
    assert opened(store) == TWO


def test_a_stale_write_is_a_conflict_and_changes_nothing(store: FileStore) -> None:
    store.create(ONE)
    stale = version(store)
    store.write(TWO, stale)
    with pytest.raises(Conflict):
        store.write(ONE, stale)
    assert data(store) == TWO


def test_a_write_to_nothing_is_a_conflict(store: FileStore) -> None:
    with pytest.raises(Conflict):
        store.write(ONE, "any")
    assert store.read() is None


def test_private_keys_are_readable_by_their_owner_alone_whatever_the_umask(store: FileStore) -> None:
    before = os.umask(0)
    try:
        store.create({**ONE, **TWO, "next-ca.key": b"k", "next-ca.crt": b"c", "state.json": b"{}"})
    finally:
        os.umask(before)
    modes = {name: stat.S_IMODE((store.directory / name).stat().st_mode) for name in entries.ALL}
    assert {name for name, mode in modes.items() if mode == 0o600} == entries.PRIVATE
    assert {name for name, mode in modes.items() if mode == 0o644} == set(entries.ALL) - entries.PRIVATE


def test_other_files_in_the_directory_are_left_alone(store: FileStore) -> None:
    store.directory.mkdir()
    (store.directory / "README").write_text("mine")
    store.create(ONE)
    store.write(TWO, version(store))
    assert (store.directory / "README").read_text() == "mine"


def test_a_directory_of_plain_files_is_read_and_taken_over(store: FileStore) -> None:
    store.directory.mkdir()
    for name, content in ONE.items():
        (store.directory / name).write_bytes(content)
    assert data(store) == ONE
    assert files.generation(store.directory) == store.directory
    store.write(TWO, version(store))
    assert data(store) == TWO
    assert opened(store) == TWO


def test_a_mount_of_the_kubelet_is_read(tmp_path: Path) -> None:
    (tmp_path / "..2026_11_30_05_15_00.123").mkdir()
    (tmp_path / "..data").symlink_to("..2026_11_30_05_15_00.123")
    for name, content in ONE.items():
        (tmp_path / "..data" / name).write_bytes(content)
        (tmp_path / name).symlink_to(f"..data/{name}")
    assert data(FileStore(tmp_path)) == ONE
    assert files.generation(tmp_path).name == "..2026_11_30_05_15_00.123"


def test_a_change_by_hand_is_another_version(store: FileStore) -> None:
    store.create(ONE)
    before = version(store)
    (store.directory / "tls.crt").write_bytes(b"by hand")
    with pytest.raises(Conflict):
        store.write(TWO, before)


def test_old_generations_do_not_pile_up(store: FileStore) -> None:
    store.create(ONE)
    for turn in range(10):
        store.write(TWO if turn % 2 else ONE, version(store))
    generations = [path for path in store.directory.iterdir() if path.is_dir() and not path.is_symlink()]
    assert len(generations) == 2


def test_readers_never_see_a_half_pair_while_writers_write(store: FileStore) -> None:
    store.create(ONE)
    over, seen, faults = threading.Event(), set[bytes](), []

    def read() -> None:
        while not over.is_set():
            found = data(store)
            if found not in (ONE, TWO):
                faults.append(found)
            seen.add((found or {}).get("tls.crt", b""))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(100):
        store.write(ONE if turn % 2 else TWO, version(store))
    over.set()
    for reader in readers:
        reader.join()
    assert faults == []
    assert seen == {ONE["tls.crt"], TWO["tls.crt"]}


KILLED = """
import os, pathlib, sys
from certs import files

def write(directory, left):
    def mortal(call):
        def run(*arguments, **options):
            nonlocal left
            if left == 0:
                os._exit(9)
            left -= 1
            return call(*arguments, **options)
        return run

    for name in ("mkdir", "open", "fsync", "symlink", "replace", "unlink", "rmdir", "fdopen", "rename"):
        setattr(os, name, mortal(getattr(os, name)))
    store = files.FileStore(directory)
    found = store.read()
    new = {"tls.crt": b"certificate 2", "tls.key": b"key 2", "ca.key": b"authority key 2"}
    store.create(new) if found is None else store.write(new, found.version)
    os._exit(0)

folder = pathlib.Path(sys.argv[1])
for calls in range(int(sys.argv[2])):
    child = os.fork()
    if child == 0:
        write(folder / str(calls), calls)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
"""Writes TWO to folder/0, folder/1, …, each in a process that dies before its call number 0, 1, … to the disk."""

MORE_CALLS_THAN_A_WRITE_MAKES = 90


@pytest.mark.parametrize("before", ["nothing", "plain files", "a generation"])
def test_a_writer_that_is_killed_at_any_moment_leaves_the_old_or_the_new_and_no_half(
    tmp_path: Path, before: str
) -> None:
    stores = [FileStore(tmp_path / str(calls)) for calls in range(MORE_CALLS_THAN_A_WRITE_MAKES)]
    for store in stores:
        if before == "plain files":
            store.directory.mkdir()
            for name, content in ONE.items():
                (store.directory / name).write_bytes(content)
        elif before == "a generation":
            store.create(ONE)
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(len(stores))]
    run = subprocess.run(command, check=True, timeout=120, capture_output=True, text=True)
    codes = [int(line) for line in run.stdout.split()]
    assert codes == sorted(codes, reverse=True)
    assert set(codes) == {9, 0}
    assert codes.count(9) > 8
    for store, code in zip(stores, codes, strict=True):
        found = data(store)
        assert found in ((None, TWO) if before == "nothing" else (ONE, TWO))
        assert found == TWO or code == 9
        # A program that opens the links or files one by one finds a pair too.
        pair = tuple(_content(store.directory / name) for name in ("tls.crt", "tls.key"))
        assert pair in {(None, None), (b"certificate 1", b"key 1"), (b"certificate 2", b"key 2")}
        assert (pair == (None, None)) == (found is None)
        # And the next writer goes on from there, and clears up.
        if found is None:
            store.create(TWO)
        else:
            store.write({**TWO, "ca.crt": b"bundle 3"}, version(store))
        assert opened(store) == data(store)
        assert len([path for path in store.directory.iterdir() if path.name.startswith("..")]) <= 4


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def test_processes_that_start_at_once_agree_on_one_authority(tmp_path: Path) -> None:
    now, policy = datetime.now(UTC), Policy()
    for attempt in range(50):
        store, barrier = FileStore(tmp_path / str(attempt)), threading.Barrier(3)
        outcomes: list[Outcome] = []

        def start(
            store: FileStore = store, barrier: threading.Barrier = barrier, outcomes: list[Outcome] = outcomes
        ) -> None:
            barrier.wait()
            outcomes.append(converge(store, [SERVICE], now, policy))

        threads = [threading.Thread(target=start) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(outcomes) == 3
        assert len({bundle(outcome.state) for outcome in outcomes}) == 1
        assert [outcome.lost for outcome in outcomes].count(False) >= 1


def test_a_server_serves_what_the_files_hold_through_a_whole_change_of_the_authority(store: FileStore) -> None:
    """With real handshakes, which are at the real time: the change begins an hour ago."""
    policy, now = Policy(), datetime.now(UTC) - timedelta(hours=1)
    converge(store, [SERVICE], now, policy)
    bundles, actions = [], []
    for turn in range(4):
        outcome = converge(store, [SERVICE], now + turn * policy.propagation, policy, rotate=turn == 0)
        actions.append(outcome.action)
        folder = files.generation(store.directory)
        pair = pairs.load((folder / "tls.crt").read_bytes(), (folder / "tls.key").read_bytes())
        bundles.append((folder / "ca.crt").read_bytes())
        for held in bundles[-2:]:
            handshake(held, pair, SERVICE)
    assert actions == [Action.PUBLISH, Action.SWITCH, Action.RETIRE, Action.KEEP]
