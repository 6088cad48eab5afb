from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.formats.allow_list import NOTHING, AllowList


@pytest.mark.parametrize(
    "address",
    [
        "http://a.org/data", "http://a.org/data/", "http://a.org/data/x?y#z", "HTTP://A.ORG:80/data/x",
        "http://a.org/data?x", "http://a.org/data/é", "http://a.org/data/a%2Fb", "http://a.org/data/..x;y",
    ],
)  # fmt: skip
def test_addresses_below_a_prefix_are_permitted(address: str) -> None:
    assert AllowList.of(["http://a.org/data"]).permits(address)


@pytest.mark.parametrize(
    "address",
    [
        "http://a.org.evil/data", "http://a.orgevil/data", "http://a.org", "http://a.org/", "http://a.org/database",
        "https://a.org/data", "http://a.org:8080/data", "http://user@a.org/data", "http://evil@a.org/data",
        "http://a.org@evil/data", "http://a.org\\@evil/data", "http://a.org/data/../secret", "http://a.org/data/.",
        "http://a.org/data/%2e%2E/secret", "http://a.org/data/.%2e/secret", "http://a.org./data", "http://b.org/data",
        "http://a.org\n/data", "http://a.org/data\n", "http://a.org/da ta", "http://a.org/DATA", "//a.org/data",
        "file:///data", "ftp://a.org/data", "http:a.org/data", "http:///data", "http://a.org:99999/data",
        "http://a.org:/data", "http://a%2eorg/data", "http://ａ.org/data", "http://a.org/data>", "",
        "http://a.org/data/..%2fsecret", "http://a.org/data%2F..%2fsecret", "http://a.org/data/%2e%2e%5Csecret",
        "http://a.org/data/..;/secret", "http://a.org/data/%2e.;a=b/secret", "http://a.org/data%2fx",
        "http://a.org:٨٠/data", "http://a.org:８０/data", "httpſ://a.org/data",
    ],
)  # fmt: skip
def test_no_other_address_is(address: str) -> None:
    assert not AllowList.of(["http://a.org/data"]).permits(address)


def test_a_prefix_without_a_path_is_the_whole_host_and_a_slash_at_its_end_is_meant() -> None:
    assert AllowList.of(["http://a.org"]).permits("http://a.org")
    assert AllowList.of(["http://a.org"]).permits("http://a.org/any/path")
    assert AllowList.of(["http://a.org/data/"]).permits("http://a.org/data/x")
    assert not AllowList.of(["http://a.org/data/"]).permits("http://a.org/data")
    assert AllowList.of(["http://[::1]:8000"]).permits("http://[::1]:8000/x")


def test_everything_is_every_web_address_and_no_file() -> None:
    everything = AllowList.of(["*"])
    assert everything.permits("http://127.0.0.1:9/x")
    assert everything.permits("https://a.org")
    assert not everything.permits("file:///etc/passwd")
    assert not everything.permits("http://user:secret@a.org/")


def test_by_default_nothing_is_permitted() -> None:
    assert not NOTHING
    assert not NOTHING.permits("http://a.org/")


@pytest.mark.parametrize(
    "entry",
    ["a.org", "file://host/x", "file:///a/../b", "ftp://a.org", "http:", "http://", "http://u:p@a.org", "http://a.org?x",
     "http://a.org#x", "http://*.a.org", "**", "http://a.org/../x", "http://a.org:８０", "httpſ://a.org", "wſ:"],
)  # fmt: skip
def test_a_wrong_prefix_is_named(entry: str) -> None:
    with pytest.raises(ValueError, match="is neither"):
        AllowList.of([entry])


PREFIXES = st.builds(
    lambda scheme, host, port, path: f"{scheme}://{host}{port}{path}",
    st.sampled_from(["http", "HTTPS"]), st.sampled_from(["a.org", "B.org", "[::1]"]),
    st.sampled_from(["", ":80", ":443", ":8000"]), st.sampled_from(["", "/", "/a", "/a/", "/a/b", "/a,b", "/a,*"]),
)  # fmt: skip


@given(st.lists(PREFIXES | st.just("*"), max_size=4), PREFIXES)
def test_a_list_written_and_read_again_is_the_same(entries: list[str], address: str) -> None:
    written = AllowList.of(entries)
    read = AllowList.of(written.entries)
    assert read == written
    assert all(written.permits(entry) for entry in entries if entry != "*")
    assert read.permits(address) == written.permits(address)


def test_brokers_and_files_are_permitted_where_they_are_asked_for() -> None:
    listed = AllowList.of(["mqtt://broker.org", "file:///srv/in", "ws:", "*"])
    assert listed.permits("mqtt://BROKER.org:1883", {"mqtt"})
    assert listed.permits("file:///srv/in/a%20b.nt", {"file"})
    assert listed.permits("file:/srv/in", {"file"})
    assert listed.permits("ws://any.org/x", {"ws", "wss"})
    for other in ("mqtt://broker.org:1884", "mqtts://broker.org", "mqtt://other.org"):
        assert not listed.permits(other, {"mqtt", "mqtts"})
    for other in ("file:///srv/inside", "file:///srv", "file:///srv/in/%2e%2e/x", "file://other/srv/in", "file:srv/in"):
        assert not listed.permits(other, {"file"})
    assert not listed.permits("mqtt://broker.org"), "what fetches takes web addresses alone"
    assert not AllowList.of(["*"]).permits("mqtt://broker.org", {"mqtt"}), "* is the web"
    assert AllowList.of(listed.entries) == listed


@pytest.mark.parametrize("host", ["a" * 64, f"{'a' * 64}.org", "a..org", ".org", "."])
def test_what_no_host_is_called_is_no_address(host: str) -> None:
    assert not AllowList.of(["*"]).permits(f"http://{host}/data")


@pytest.mark.parametrize("host", ["a" * 63, f"{'a' * 63}.b-c.d_e", "a.org.", "127.0.0.1", "[::1]", "[::ffff:1.2.3.4]"])
def test_what_a_host_is_called_is_an_address(host: str) -> None:
    assert AllowList.of(["*"]).permits(f"http://{host}/data")
    assert AllowList.of([f"http://{host}"]).permits(f"http://{host}/data")
