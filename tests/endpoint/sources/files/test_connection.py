"""A file that grows, is rotated, cut, and read on after a restart: each of its messages once."""

from __future__ import annotations

import errno
import gzip
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from endpoint.sources.connection import Surroundings
from endpoint.sources.files import connection as files
from endpoint.sources.files import rotation
from endpoint.sources.files.connection import FileConnection
from endpoint.sources.files.framing import Framed, Framing
from endpoint.sources.files.growing_file import GrowingFile
from protocol.formats.allow_list import AllowList
from protocol.sources import SourceFailed, SourceSettings, SourceType

_CHANGED = itertools.count(1_000_000_000)


class Reader:
    """Reads a place as the thread of a source does, and can be started anew from what was stored."""

    def __init__(self, place: Path, allowed: str | None = None, content_type: str | None = None, largest: int = 10**6):
        self.allowed = AllowList.of([f"file://{allowed or place.parent}"])
        self.settings = SourceSettings(SourceType.FILE, place.as_uri(), content_type=content_type)
        self.largest = largest
        self.positions: dict[str, bytes] = {}
        self.connection: FileConnection | None = None
        self.now = 0.0

    def restart(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def take(self, looks: int = 1, *, store: bool = True) -> list[str]:
        if self.connection is None:
            surroundings = Surroundings(
                "s", self.settings, self.allowed, "id", self.largest, lambda seconds: True, self.positions
            )
            self.connection = FileConnection(surroundings, lambda: self.now)
        found: list[str] = []
        for _ in range(looks):
            batch = self.connection.take(1)
            self.now += files.POLL_SECONDS
            if batch is not None:
                found += [message.body.decode() for message in batch.messages]
                if store:
                    self.positions = {name: at for name, at in {**self.positions, **batch.positions}.items() if at}
        return found

    @property
    def notice(self) -> str | None:
        return None if self.connection is None else self.connection.notice


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Callable[..., Reader]]:
    made: list[Reader] = []

    def make(place: Path, **options: object) -> Reader:
        made.append(Reader(place, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        one.restart()


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_lines_are_read_once_each_as_they_come(tmp_path: Path, reader: Callable[..., Reader]) -> None:
    path = tmp_path / "in.ndjson"
    path.write_text('{"a":1}\n{"a"')
    read = reader(path)
    assert read.take() == ['{"a":1}']
    assert read.take() == []
    append(path, ':2}\n{"a":3}\n')
    read.restart()
    assert read.take() == ['{"a":2}', '{"a":3}']
    append(path, '{"a":4}\n')
    assert read.take(store=False) == ['{"a":4}']
    read.restart()
    assert read.take() == ['{"a":4}'], "what was not stored comes again"
    read.restart()
    assert read.take(3) == []


def test_a_context_and_a_version_hold_on_across_restarts(tmp_path: Path, reader: Callable[..., Reader]) -> None:
    lines, triples = tmp_path / "a" / "in.ndjson", tmp_path / "a" / "in.nt"
    lines.parent.mkdir()
    append(lines, '{"@context":{"@vocab":"a:"}}\n')
    append(triples, 'VERSION "1.2-messages"\n<a:a> <a:p> <a:o> .\n')
    read = reader(lines.parent)
    assert read.take() == []
    read.restart()
    append(lines, '{"x":1}\n')
    append(triples, "<a:b> <a:p> <a:o> .\nMESSAGE\n<a:c>")
    assert read.take() == [
        '{"@context":{"@vocab": "a:"},"@graph":{"x":1}}',
        "<a:a> <a:p> <a:o> .\n<a:b> <a:p> <a:o> .\n",
    ]


def test_a_rotated_file_is_read_to_its_end_first(tmp_path: Path, reader: Callable[..., Reader]) -> None:
    path = tmp_path / "in.ndjson"
    append(path, "1\n")
    read = reader(path)
    assert read.take() == ["1"]
    append(path, "2\n")
    path.rename(tmp_path / "in.ndjson.1")
    append(tmp_path / "in.ndjson.1", "3\n")
    append(path, "4\n")
    append(tmp_path / "in.ndjson.1", "5")  # whoever writes had it open
    assert read.take() == ["2", "3"]
    assert read.take(2) == []
    append(tmp_path / "in.ndjson.1", "5\n")
    assert read.take() == ["55"]
    append(tmp_path / "in.ndjson.1", "6")
    assert read.take(5) == []
    assert read.take(9) == ["6", "4"], "after a second without anything new"
    append(path, "7\n")
    assert read.take(9) == ["7"]
    (tmp_path / "in.ndjson.1").unlink()
    path.rename(tmp_path / "in.ndjson.1")
    append(path, "8\n")
    assert read.take(9) == ["8"]
    assert len(read.positions) == 3, "the two there are, and since when files are new"


def test_a_file_rotated_while_nobody_read_is_found_beside(tmp_path: Path, reader: Callable[..., Reader]) -> None:
    path = tmp_path / "in.ndjson"
    append(path, "1\n")
    read = reader(path)
    assert read.take() == ["1"]
    read.restart()
    append(path, "2\n")
    path.rename(tmp_path / "in.ndjson.1")
    read.positions = dict(read.positions)
    assert read.take() == ["2"], "also while the next one is not there"
    append(path, "3\n")
    assert read.take(9) == ["3"]


def rotate(path: Path, *, keep: int = 99) -> None:
    """Give the file the number 1, and those before it one more; each was changed a second after the one before it."""
    for number in reversed(range(1, keep)):
        older = path.with_name(f"{path.name}.{number}")
        if older.exists():
            older.rename(path.with_name(f"{path.name}.{number + 1}"))
    rotated = path.rename(path.with_name(f"{path.name}.1"))
    rotated.with_name(f"{path.name}.{keep}").unlink(missing_ok=True)
    changed = next(_CHANGED)
    os.utime(rotated, (changed, changed))


def test_what_was_begun_and_rotated_while_nobody_read_is_read_the_oldest_first(
    tmp_path: Path, reader: Callable[..., Reader]
) -> None:
    path = tmp_path / "in.ndjson"
    append(path, "too old\n")
    rotate(path)
    append(path, "1\n")
    read = reader(path)
    assert read.take() == ["1"]
    append(path, "2\n")
    for number in range(3, 20):
        rotate(path)
        append(path, f"{number}\n")
    read.restart()
    append(tmp_path / "in.ndjson.1.gz", "not a number behind the name\n")
    assert read.take(9) == [str(number) for number in range(2, 20)]
    rotate(path)
    read.restart()
    assert read.take() == [], "also while none has the name"
    append(path, "20\n")
    read.restart()
    assert read.take(9) == ["20"]
    read.restart()
    rotate(path)
    append(path, "21\n")
    rotate(path)
    append(path, "22\n")
    assert read.take(9) == ["21", "22"]


@pytest.mark.parametrize("back", [0, 3600])
def test_what_is_new_is_not_told_by_the_clock(tmp_path: Path, reader: Callable[..., Reader], back: int) -> None:
    path = tmp_path / "in.ndjson"

    def rotated(number: int) -> None:
        rotate(path)
        append(path, f"{number}\n")
        one = tmp_path / "in.ndjson.1"
        changed = one.stat().st_mtime - back
        os.utime(one, (changed, changed))

    for number in (-2, -1, 0):
        append(path, f"{number}\n")
        rotate(path)
    append(path, "1\n")
    read = reader(path)
    assert read.take() == ["1"]
    read.restart()
    os.utime(tmp_path / "in.ndjson.2")  # somebody has touched it
    for number in (2, 3, 4):
        rotated(number)
    assert read.take(9) == ["2", "3", "4"]
    read.restart()
    assert read.take(9) == []
    append(tmp_path / "in.ndjson.6", '"written late"\n')
    read.restart()
    assert read.take(9) == ['"written late"']


def test_of_files_that_were_read_long_ago_none_is_read_again(
    tmp_path: Path, reader: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_MOST_KNOWN", 3)
    path = tmp_path / "in.ndjson"
    append(path, "0\n")
    read = reader(path)
    taken = read.take()
    for number in range(1, 12):
        rotate(path)
        append(path, f"{number}\n")
        taken += read.take(9)
        if number % 4 == 0:
            read.restart()
    assert taken == [str(number) for number in range(12)]
    assert len(read.positions) == 3 + 2


def test_a_file_that_was_copied_and_cut_is_read_on_in_the_copy(tmp_path: Path, reader: Callable[..., Reader]) -> None:
    path, copy = tmp_path / "in.ndjson", tmp_path / "in.ndjson.1"
    for kept in (True, False):
        append(path, '"begins as another one does"\n1\n')
        read = reader(path)
        assert read.take()[1:] == ["1"]
        append(path, "2\n")
        if kept:
            read.restart()
        copy.write_bytes(path.read_bytes())
        path.write_text('"begins as another one does"\n')
        append(path, "3\n4\n5\n")
        if not kept:
            path.write_text("3\n")
        assert [one for one in read.take(9) if len(one) == 1] == (["2", "3", "4", "5"] if kept else ["2", "3"])
        read.restart()
        assert read.take(9) == []
        path.unlink()
        copy.unlink()


@pytest.mark.parametrize("renumbered", [True, False])
@pytest.mark.parametrize("in_folder", [True, False])
@pytest.mark.parametrize("restarted", [True, False])
def test_a_file_that_is_copied_and_cut_again_and_again_is_read_once(
    tmp_path: Path, reader: Callable[..., Reader], renumbered: bool, in_folder: bool, restarted: bool
) -> None:
    path, copy = tmp_path / "in.ndjson", tmp_path / "in.ndjson.1"
    numbers = itertools.count()

    def add() -> None:
        append(path, f"{next(numbers)}\n")

    add()
    read = reader(tmp_path if in_folder else path)
    taken = read.take()
    for _ in range(4):
        add()
        taken += read.take(9)
        add()
        if restarted:
            read.restart()
        for number in (3, 2, 1) if renumbered else ():
            older = tmp_path / f"in.ndjson.{number}"
            if older.exists():
                older.rename(tmp_path / f"in.ndjson.{number + 1}")
        content = path.read_bytes()
        for there in (content[:1], content):  # it is looked at while it is made, too
            copy.write_bytes(there)
            taken += read.take()
        add()
        copy.write_bytes(path.read_bytes())
        os.truncate(path, 0)
        taken += read.take(9)
        add()
        taken += read.take(9)
    assert taken == [str(number) for number in range(next(numbers))]


@pytest.mark.parametrize("in_folder", [True, False])
def test_a_copy_of_a_file_that_goes_on_is_not_read(
    tmp_path: Path, reader: Callable[..., Reader], in_folder: bool
) -> None:
    path = tmp_path / "in.ndjson"
    append(path, "1\n2\n")
    read = reader(tmp_path if in_folder else path)
    assert read.take() == ["1", "2"]
    for number in range(3, 8):
        (tmp_path / f"in.ndjson.{number}").write_bytes(path.read_bytes())
        append(path, f"{number}\n")
        if number % 2:
            read.restart()
        assert read.take(9) == [str(number)]
    append(tmp_path / "in.ndjson.3", '"something else"\n')
    assert read.take(9) == ["1", "2", '"something else"']


@pytest.mark.parametrize("in_folder", [True, False])
def test_a_copy_of_what_was_not_read_yet_is_not_read_beside_it(
    tmp_path: Path, reader: Callable[..., Reader], in_folder: bool
) -> None:
    path = tmp_path / "in.ndjson"
    append(path, "1\n")
    read = reader(tmp_path if in_folder else path)
    assert read.take() == ["1"]
    os.truncate(path, 0)
    assert read.take(9) == []
    append(path, "2\n")
    (tmp_path / "in.ndjson.1").write_bytes(path.read_bytes())
    assert read.take(9) == ["2"]
    os.truncate(path, 0)
    append(path, "3\n")
    assert read.take(9) == ["3"]


def test_a_file_that_is_renamed_while_it_is_looked_for_is_no_other(
    tmp_path: Path, reader: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = rotation.files_of

    def rotated_meanwhile(folder: Path) -> list[rotation.Found]:
        there = found(folder)
        if (folder / "in.ndjson").exists() and not (folder / "in-1.ndjson").exists():
            (folder / "in.ndjson").rename(folder / "in-1.ndjson")
            append(folder / "in.ndjson", "3\n")
            there = [one for one in there if one.path.name != "lost.ndjson"]
        return there

    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        append(folder / "lost.ndjson", "0\n")
        append(folder / "in.ndjson", "1\n2\n")
        read = reader(folder)
        if name == "b":
            assert read.take() == ["1", "2", "0"]
            read.restart()
            append(folder / "in.ndjson", "2b\n")
        with monkeypatch.context() as patched:
            patched.setattr(files, "files_of", rotated_meanwhile)
            assert read.take(9) == (["1", "2", "0", "3"] if name == "a" else ["2b", "3"])
        assert read.take(9) == []


def test_what_was_cut_off_of_a_message_that_had_not_ended_is_not_read(
    tmp_path: Path, reader: Callable[..., Reader]
) -> None:
    path = tmp_path / "in.ndjson"
    append(path, "1\n22")
    read = reader(path)
    assert read.take() == ["1"]
    os.truncate(path, 2)
    assert read.take() == []
    append(path, "3333\n")
    assert read.take() == ["3333"]
    append(path, "44")
    assert read.take() == []
    os.truncate(path, 7)
    append(path, "5555\n")
    assert read.take() == ["5555"]
    assert read.notice is None


def test_a_file_that_is_gone_is_read_to_its_end_if_it_was_open(tmp_path: Path, reader: Callable[..., Reader]) -> None:
    path = tmp_path / "in.ndjson"
    append(path, "1\n")
    read = reader(path)
    assert read.take() == ["1"]
    append(path, "2\n")
    path.unlink()
    append(path, "3\n")
    assert read.take(9) == ["2", "3"]
    read.restart()
    path.unlink()
    append(path, "4\n")
    assert read.take(9) == ["4"]


def test_a_cut_file_is_read_from_its_beginning_and_that_is_said(tmp_path: Path, reader: Callable[..., Reader]) -> None:
    path = tmp_path / "in.ndjson"
    append(path, "1\n22\n")
    read = reader(path)
    assert read.take() == ["1", "22"]
    path.write_text("3\n")
    assert read.take() == ["3"]
    assert read.notice is not None
    assert "was cut" in read.notice
    read.restart()
    path.write_text("44444444\n")
    assert read.take() == ["44444444"]
    assert read.notice is not None
    assert "not the file that it was" in read.notice


@pytest.mark.parametrize(
    "anew", [["3", "4"], ["3"], ["33", "4444"], [str(number) for number in range(1000, 1400)]], ids=len
)
def test_a_file_written_anew_in_its_place_is_read_from_its_beginning_however_long_it_is(
    tmp_path: Path, reader: Callable[..., Reader], anew: list[str]
) -> None:
    path = tmp_path / "in.ndjson"
    append(path, "1\n2\n")
    read = reader(path)
    assert read.take() == ["1", "2"]
    path.write_text("".join(f"{one}\n" for one in anew))
    assert read.take(2) == anew
    assert read.notice is not None
    assert "written anew" in read.notice
    append(path, "5\n")
    assert read.take() == ["5"]
    read.restart()
    assert read.take() == []


def test_files_of_a_folder_are_read_in_the_order_of_their_names(tmp_path: Path, reader: Callable[..., Reader]) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("b.ndjson", "a.ndjson", ".hidden.ndjson", "c.txt"):
        append(folder / name, f'"{name}"\n')
    (folder / "below").mkdir()
    read = reader(folder)
    assert read.take() == ['"a.ndjson"', '"b.ndjson"']
    assert read.notice is not None
    assert "c.txt is passed over" in read.notice
    assert "its name tells none of these" in read.notice
    (folder / "b.ndjson").rename(folder / "z.ndjson")
    append(folder / "z.ndjson", "1\n")
    assert read.take() == ["1"], "a file is known whatever it is called"


def test_of_many_files_in_a_folder_those_that_have_not_changed_are_not_opened_again(
    tmp_path: Path, reader: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_MOST_OPEN", 2)
    opened: list[str] = []

    class Counted(GrowingFile):
        def __init__(self, path: Path, framing: Framing, largest: int) -> None:
            opened.append(path.name)
            super().__init__(path, framing, largest)

    monkeypatch.setattr(files, "GrowingFile", Counted)
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(6):
        (folder / f"{number}.ndjson").write_text(f"[{number}]\n")
    read = reader(folder)
    assert read.take() == [f"[{number}]" for number in range(6)]
    read.take(2)
    opened.clear()
    assert read.take(5) == []
    assert opened == []
    append(folder / "0.ndjson", "[7]\n")
    append(folder / "3.ndjson", "[8")
    assert read.take() == ["[7]"]
    append(folder / "3.ndjson", "]\n")
    (folder / "1.ndjson").write_text("[9]\n")
    os.utime(folder / "1.ndjson", ns=(0, next(_CHANGED)))
    assert read.take() == ["[9]", "[8]"]
    assert "1.ndjson is not the file that it was" in (read.notice or "")
    assert opened == ["0.ndjson", "3.ndjson", "1.ndjson"]


def test_looking_at_many_files_leaves_most_of_the_time_to_others(tmp_path: Path) -> None:
    (tmp_path / "in.ndjson").write_text("")
    waited: list[float] = []
    now = itertools.count()  # each look takes a second

    def wait(seconds: float) -> bool:
        waited.append(seconds)
        return True

    surroundings = Surroundings(
        "s", SourceSettings(SourceType.FILE, tmp_path.as_uri()), AllowList.of(["file:"]), "id", 1000, wait
    )  # fmt: skip
    connection = FileConnection(surroundings, lambda: float(next(now)))
    connection.take(60)  # that it is there
    assert connection.take(60) is connection.take(5) is None
    connection.close()
    assert 9 <= waited[0] < 60
    assert waited[1] == 5


def test_files_of_a_folder_that_are_rotated_are_read_before_those_that_take_their_names(
    tmp_path: Path, reader: Callable[..., Reader]
) -> None:
    path, other = tmp_path / "in" / "z.ndjson", tmp_path / "in" / "za.ndjson"
    path.parent.mkdir()
    read = reader(path.parent)
    append(path, "0\n")
    taken = read.take()
    for number in range(1, 100, 3):
        append(path, f"{number}\n")
        if number % 2:
            rotate(path)
        else:  # a name that says nothing
            path.rename(path.with_name(f"{number}-z.ndjson"))
        append(path, f"{number + 1}\n")
        taken += read.take()
        append(path, f"{number + 2}\n")
        taken += read.take(number % 9)
    append(other, '"another"\n')
    assert read.take(1)[-1:] == ['"another"'], "other files wait for none"
    taken += read.take(9)
    assert taken == [str(number) for number in range(100)]
    read.restart()
    assert read.take(9) == [], "what was read to its end is known on"


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("in_between", [False, True])
def test_what_took_a_name_and_lost_it_between_two_looks_is_read_after_the_file_that_had_it_before(
    tmp_path: Path, reader: Callable[..., Reader], restarted: bool, in_between: bool
) -> None:
    path = tmp_path / "in.ndjson"
    read = reader(tmp_path)
    append(path, '{"n":0}\n')
    assert read.take() == ['{"n":0}']
    for number in range(1, 4):
        append(path, f'{{"n":{number}}}\n')
        path.rename(tmp_path / f"in-{number:05d}.ndjson")  # a name that comes before the file's own
    if restarted:
        read.restart()
    taken = read.take(1) if in_between else []  # while no file has the name
    append(path, '{"n":4}\n')
    assert taken + read.take(40) == [f'{{"n":{number}}}' for number in range(1, 5)]


def test_files_of_a_folder_that_were_rotated_while_nobody_read_are_read_the_oldest_first(
    tmp_path: Path, reader: Callable[..., Reader]
) -> None:
    path = tmp_path / "in" / "z.ndjson"
    path.parent.mkdir()
    append(path, "0\n")
    read = reader(path.parent)
    assert read.take() == ["0"]
    read.restart()
    for number in range(1, 13):
        append(path, f"{number}\n")
        rotate(path)
    append(path, "13\n")
    assert read.take() == [str(number) for number in range(1, 13)]
    assert read.take(9) == ["13"]
    append(path.with_name("z.ndjson.1"), "14")
    assert read.take(9) == ["14"], "what is added later is read, too"


def test_a_batch_is_bounded_and_the_rest_comes_later(
    tmp_path: Path, reader: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_MESSAGES", 7)
    path = tmp_path / "in.ndjson"
    append(path, "".join(f"{number}\n" for number in range(40)))
    read = reader(path)
    batches = [read.take() for _ in range(7)]
    assert max(map(len, batches)) == 7
    assert [int(one) for batch in batches for one in batch] == list(range(40))


def test_a_message_that_is_too_long_is_said_and_nothing_before_it_is_lost(
    tmp_path: Path, reader: Callable[..., Reader]
) -> None:
    path = tmp_path / "in.ndjson"
    append(path, "1\n" + "2" * 300_000)
    read = reader(path, largest=1000)
    assert read.take() == ["1"]
    with pytest.raises(SourceFailed, match="at byte 2 is longer than 1000 bytes"):
        read.take()


def test_a_long_message_is_not_divided_again_for_each_part_of_it_that_is_read(
    tmp_path: Path, reader: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    divided: list[int] = []
    divide = Framing.divide

    def counting(framing: Framing, data: bytes, *, whole: bool = False) -> Iterator[tuple[Framed | None, int, Framing]]:
        divided.append(len(data))
        return divide(framing, data, whole=whole)

    monkeypatch.setattr(Framing, "divide", counting)
    path = tmp_path / "in.nt"
    message = f"<a:a> <a:p> <a:{'x' * 10_000}> .\n" * 800
    append(path, f'VERSION "1.2-messages"\n{message}MESSAGE\n')
    assert reader(path, largest=10**7).take() == [message]
    assert sum(divided) < 4 * len(message)
    with pytest.raises(SourceFailed, match="is longer than 5000000 bytes"):
        reader(path, largest=5 * 10**6).take()


def test_what_a_folder_has_before_a_message_that_is_too_long_is_not_lost(
    tmp_path: Path, reader: Callable[..., Reader]
) -> None:
    for name, text in (("a", "1\n"), ("b", "2" * 300_000), ("c", "3\n")):
        append(tmp_path / f"{name}.ndjson", text)
    read = reader(tmp_path, largest=1000)
    assert read.take() == ["1"]
    assert "b.ndjson at byte 0 is longer than 1000 bytes" in (read.notice or "")
    with pytest.raises(SourceFailed, match=r"b\.ndjson at byte 0 is longer than 1000 bytes"):
        read.take()
    append(tmp_path / "a.ndjson", "4\n")
    read.restart()
    assert read.take() == ["4"], "at each attempt what is before it"
    read.restart()
    (tmp_path / "b.ndjson").unlink()
    assert read.take() == ["3"]


def test_a_file_without_permission_is_passed_over_in_a_folder_until_it_has_one(
    tmp_path: Path, reader: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        append(tmp_path / f"{name}.ndjson", f'"{name}"\n')
    really, secret = os.open, {"b.ndjson"}

    def refusing(path: Path, *arguments: int) -> int:
        if Path(path).name in secret:
            raise PermissionError(13, "Permission denied", str(path))
        return really(path, *arguments)

    # Not by its mode: that says nothing to a superuser.
    monkeypatch.setattr(os, "open", refusing)
    read = reader(tmp_path)
    assert read.take() == ['"a"', '"c"']
    assert read.notice == "b.ndjson is passed over: Permission denied"
    secret.clear()
    assert read.take() == ['"b"']
    secret.add("b.ndjson")
    with pytest.raises(PermissionError):
        reader(tmp_path / "b.ndjson", allowed=str(tmp_path)).take()


def test_a_link_that_leads_where_nobody_may_look_stops_no_folder(
    tmp_path: Path, reader: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    append(tmp_path / "a.ndjson", "1\n")

    class Entry:
        name = "b.ndjson"

        def is_file(self) -> bool:
            raise PermissionError(13, "Permission denied")

        def is_symlink(self) -> bool:
            return True

    monkeypatch.setattr(os, "scandir", lambda folder, really=os.scandir: [*really(folder), Entry()])
    assert reader(tmp_path).take() == ["1"]


def test_files_of_a_folder_whose_names_alone_may_be_seen_for_a_while_are_read_on(
    tmp_path: Path, reader: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    append(tmp_path / "a.ndjson", "1\n")
    read, really = reader(tmp_path), os.scandir
    assert read.take() == ["1"]

    class Entry:
        def __init__(self, entry: os.DirEntry[str]) -> None:
            self.name, self.path = entry.name, entry.path
            self.is_file, self.is_symlink = entry.is_file, entry.is_symlink

        def stat(self) -> os.stat_result:
            raise PermissionError(13, "Permission denied")

    # Not by its mode: that says nothing to a superuser.
    monkeypatch.setattr(os, "scandir", lambda folder: map(Entry, really(folder)))
    for _ in range(10):
        with pytest.raises(PermissionError):
            read.take()
        read.restart()
    monkeypatch.setattr(os, "scandir", really)
    append(tmp_path / "a.ndjson", "2\n")
    assert read.take() == ["2"]


@pytest.mark.parametrize("restarted", [True, False])
def test_files_of_a_folder_that_was_away_are_read_on(
    tmp_path: Path, reader: Callable[..., Reader], restarted: bool
) -> None:
    folder, elsewhere = tmp_path / "in", tmp_path / "elsewhere"
    folder.mkdir()
    append(tmp_path / "beside.ndjson", "0\n")
    append(folder / "a.ndjson", "1\n")
    read = reader(folder)
    assert read.take() == ["1"]
    folder.rename(elsewhere)
    if restarted:
        read.restart()
    for _ in range(10):
        with pytest.raises(SourceFailed, match=f"there is no folder {folder}"):
            read.take()
    elsewhere.rename(folder)
    append(folder / "a.ndjson", "2\n")
    assert read.take() == ["2"]


@pytest.mark.parametrize("moment", range(1, 6))
def test_a_folder_that_vanishes_while_it_is_looked_at_is_no_file(
    tmp_path: Path, reader: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    folder, elsewhere = tmp_path / "in", tmp_path / "elsewhere"
    folder.mkdir()
    append(folder / "a.ndjson", "1\n")
    read = reader(folder)
    assert read.take() == ["1"]
    found, asked = os.stat, itertools.count(1)

    def stat(path: str | Path, **options: bool) -> os.stat_result:
        if path == folder and next(asked) == moment:
            folder.rename(elsewhere)
        return found(path, **options)

    monkeypatch.setattr(os, "stat", stat)
    for _ in range(20):
        try:
            assert read.take() == []
        except (SourceFailed, OSError):
            read.restart()
    assert elsewhere.exists()
    elsewhere.rename(folder)
    append(folder / "a.ndjson", "2\n")
    assert read.take() == ["2"]


@pytest.mark.parametrize("restarted", [True, False])
def test_files_of_a_folder_whose_disk_was_away_are_read_on(
    tmp_path: Path, reader: Callable[..., Reader], restarted: bool
) -> None:
    folder, elsewhere = tmp_path / "in", tmp_path / "elsewhere"
    folder.mkdir()
    append(folder / "a.ndjson", "1\n")
    read = reader(folder)
    assert read.take() == ["1"]
    if restarted:
        read.restart()
    folder.rename(elsewhere)
    folder.mkdir()  # the mount point
    assert read.take(20) == []
    if restarted:
        read.restart()
    folder.rmdir()
    elsewhere.rename(folder)
    append(folder / "a.ndjson", "2\n")
    assert read.take() == ["2"]


def test_a_file_that_comes_once_more_into_a_folder_that_was_emptied_is_read_once_more(
    tmp_path: Path, reader: Callable[..., Reader]
) -> None:
    folder, aside = tmp_path / "in", tmp_path / "aside"
    folder.mkdir()
    append(folder / "a.ndjson", "1\n")
    read = reader(folder)
    assert read.take() == ["1"]
    (folder / "a.ndjson").rename(aside)
    assert read.take(20) == []
    aside.rename(folder / "a.ndjson")  # another one of the same inode says the same
    assert read.take() == ["1"]


def test_a_file_that_is_gone_is_missed_also_where_its_folder_has_no_other(
    tmp_path: Path, reader: Callable[..., Reader]
) -> None:
    path = tmp_path / "in" / "a.ndjson"
    path.parent.mkdir()
    append(path, "1\n")
    read = reader(path)
    assert read.take() == ["1"]
    path.rename(tmp_path / "elsewhere")
    with pytest.raises(SourceFailed, match=f"there is no file {path}"):
        read.take(20)


@pytest.mark.parametrize("target", ["a.ndjson", "b.ndjson", "c.ndjson/d", "x" * 300, "none.ndjson"])
@pytest.mark.parametrize("place", [".", "c.ndjson"])
def test_a_link_that_leads_nowhere_stops_neither_its_folder_nor_a_file_beside_it(
    tmp_path: Path, reader: Callable[..., Reader], target: str, place: str
) -> None:
    (tmp_path / "a.ndjson").symlink_to("b.ndjson")
    (tmp_path / "b.ndjson").symlink_to(target)
    append(tmp_path / "c.ndjson", "1\n")
    assert reader(tmp_path / place, allowed=str(tmp_path)).take() == ["1"]


def test_what_the_disk_cannot_say_of_a_file_is_not_taken_for_its_absence(
    tmp_path: Path, reader: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Entry:
        name = "a.ndjson"

        def is_file(self) -> bool:
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "scandir", lambda folder: [Entry()])
    with pytest.raises(OSError, match="Input/output error"):
        reader(tmp_path).take()


def test_what_may_not_be_read_is_passed_over_in_a_folder_and_named(
    tmp_path: Path, reader: Callable[..., Reader]
) -> None:
    secret, folder = tmp_path / "secret.ndjson", tmp_path / "in"
    append(secret, "0\n")
    folder.mkdir()
    (folder / "b.ndjson").symlink_to(secret)
    for name, text in (("a", "1\n"), ("c", "2\n")):
        append(folder / f"{name}.ndjson", text)
    read = reader(folder, allowed=str(folder))
    assert read.take() == ["1", "2"]
    assert read.connection is not None
    notice = read.connection.notice or ""
    assert "b.ndjson is passed over" in notice
    assert "may not read" in notice


def test_what_is_compressed_in_a_folder_is_passed_over_and_named(tmp_path: Path, reader: Callable[..., Reader]) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "rooms.log").write_text("<a:1> <a:p> <a:o> .\n")
    (folder / "rooms.log.1.gz").write_bytes(gzip.compress(b"<a:0> <a:p> <a:o> .\n" * 100))
    read = reader(folder, content_type="application/n-triples")
    assert read.take(3) == ["<a:1> <a:p> <a:o> ."]
    assert read.notice == "rooms.log.1.gz is passed over: it is compressed"


def test_only_allowed_files_are_read(tmp_path: Path, reader: Callable[..., Reader]) -> None:
    secret, folder = tmp_path / "secret.ndjson", tmp_path / "in"
    append(secret, "1\n")
    folder.mkdir()
    (folder / "link.ndjson").symlink_to(secret)
    with pytest.raises(SourceFailed, match="may not read"):
        reader(folder / "link.ndjson").take()
    os.mkfifo(folder / "pipe.ndjson")
    with pytest.raises(SourceFailed, match="not a regular file"):
        reader(folder / "pipe.ndjson").take()
    with pytest.raises(SourceFailed, match="there is no file"):
        reader(folder / "none.ndjson").take()
