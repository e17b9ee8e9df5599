"""Broadcasts that leave their root once: over IP multicast between hosts, and over the tree where that does not work."""

import re
import subprocess
import time

import pytest
from conftest import Site, made
from test_programs import compiled

GROUPS = "239.192.0.0/14"
LINE = re.compile(r"bytes (\d+) shortest (\d+) median (\d+) sent ([\d.]+)")


class Cluster:
    """Some hosts, and the program that broadcasts."""

    def __init__(self, cluster):
        self.site, self.cluster = Site(cluster), cluster
        self.program = compiled("tests/hosts/broadcasts.c", cluster.folder / "broadcasts")

    def broadcasts(self, *words, transport="wire:multicast", options=(), hosts=None, **rest):
        """By length: the shortest time, the median, and what the root's host has sent, in lengths."""
        places = ",".join(hosts or self.cluster.names)
        setting = ["env", f"SERRIED_TRANSPORT={transport}"] if transport else []
        said = self.site.run(*options, "--hosts", places, *setting, self.program, *map(str, words), **rest)
        assert said.returncode == 0, said.stdout + said.stderr
        return {int(found[1]): (int(found[2]), int(found[3]), float(found[4])) for found in LINE.finditer(said.stdout)}

    def drop(self, name, rule):
        """Of packets to groups that come to a host some are lost; None: no more."""
        self.cluster.run(name, ["nft", "delete", "table", "inet", "groups"])
        if rule is not None:
            table = f"table inet groups {{ chain in {{ type filter hook input priority 0; ip daddr {GROUPS} {rule} drop; }}; }}"
            self.cluster.run(name, ["nft", table], check=True)

    def told(self, transport="wire:multicast"):
        """What `serried info --pairs` says of multicast."""
        said = self.cluster.run("n1", ["env", f"SERRIED_TRANSPORT={transport}", self.serried(), "info", "--pairs", "-x",
                                       "SERRIED_TRANSPORT", "--hosts", ",".join(self.cluster.names)])
        assert said.returncode == 0, said.stderr
        return [line for line in said.stdout.splitlines() if "multicast" in line]

    @staticmethod
    def serried():
        from conftest import SERRIED
        return SERRIED


@pytest.fixture(scope="module")
def hosts_of_four(four):
    return Cluster(four)


@pytest.fixture
def here(hosts_of_four):
    yield hosts_of_four
    for name in hosts_of_four.cluster.names:
        hosts_of_four.drop(name, None)
    hosts_of_four.site.assert_nothing_left()


def test_the_root_sends_once(here):
    found = here.broadcasts(12, 65536, 1 << 20)
    tree = here.broadcasts(12, 65536, 1 << 20, transport="wire:tree")
    for length, (_, _, sent) in found.items():
        assert 1.0 <= sent <= 1.1, found
        assert tree[length][2] > 1.4, tree


@pytest.mark.parametrize("count", [8, 16, 32])
def test_the_root_sends_once_over_many_hosts_and_nothing_has_to_be_set(count):
    with made(count) as cluster:
        many = Cluster(cluster)
        found = many.broadcasts(12, 1 << 20, transport=None)
        assert 1.0 <= found[1 << 20][2] <= 1.1, found
        many.site.assert_nothing_left()


@pytest.mark.parametrize("ranks", ["n1:2,n2:2,n3:1,n4:3"])
def test_any_rank_may_be_the_root(here, ranks):
    here.broadcasts(24, 8192, 100_001, "roots", hosts=[ranks])
    here.broadcasts(24, 8192, 3_000_000, "roots")


def test_short_and_very_long_ones_go_along_the_tree(here):
    found = here.broadcasts(6, 8191, (4 << 20) + 1)
    assert all(sent > 1.3 for _, _, sent in found.values()), found


@pytest.mark.parametrize("lossy", [["n3"], ["n1", "n2", "n3", "n4"]])
@pytest.mark.parametrize("percent", [1, 10])
def test_what_is_lost_is_repaired(here, lossy, percent):
    for name in lossy:
        here.drop(name, f"numgen random mod 100 < {percent}")
    found = here.broadcasts(40, 65536, 1 << 20, "roots")
    assert len(found) == 2
    # Of the root's packets only what is lost goes again.
    assert here.broadcasts(20, 1 << 20)[1 << 20][2] < 1.5


def test_losses_of_all_packets_do_no_harm(here):
    for name in ("n2", "n3"):
        here.cluster.lose(name, 50)
    try:
        assert len(here.broadcasts(10, 65536, 1 << 20)) == 2
    finally:
        for name in ("n2", "n3"):
            here.cluster.lose(name, 0)


def test_a_late_member_gets_all(here):
    found = here.broadcasts(6, 65536, 3_000_000, "late", 2)
    assert all(1.0 <= sent <= 1.3 for _, _, sent in found.values()), found
    assert all(shortest > 50_000 for shortest, _, _ in found.values()), "the root waits for the last one"


def test_without_multicast_the_tree_goes_on(here):
    ports = [f"p{name}" for name in here.cluster.names]

    def switch(on):
        here.cluster.in_lab("ip", "link", "set", "lan", "type", "bridge", "mcast_snooping", str(int(on)))
        for port in ports:
            here.cluster.in_lab("ip", "link", "set", port, "type", "bridge_slave", "mcast_flood", "on" if on else "off")

    assert here.told() == ["IP multicast reaches all 4 nodes: long broadcasts use it over 8 nodes and more"]
    switch(False)
    try:
        found = here.broadcasts(12, 65536)
        assert found[65536][2] > 1.4, found
        [told] = here.told()
        assert re.search(r"not used for broadcasts: packets of rank 0 .* do not reach rank [123]$", told), told
    finally:
        switch(True)


def test_a_group_that_loses_too_much_is_left(here):
    """Multicast works at first, and then not at all: what is lost comes along the tree, and soon all goes there."""
    job = here.site.start("--hosts", ",".join(here.cluster.names), "env", "SERRIED_TRANSPORT=wire:multicast", here.program,
                          "400", "65536", "8192")
    time.sleep(1)
    here.drop("n2", "")
    out, err = job.communicate(timeout=120)
    assert job.returncode == 0 and len(LINE.findall(out)) == 2, out + err


STRANGER = r"""
import socket, sys, time
own = sys.argv[1]
seen = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
seen.bind(("e0", 0))
seen.settimeout(0.1)
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(own))
kept, end, replayed = [], time.monotonic() + float(sys.argv[2]), 0
print("ready", flush=True)
while time.monotonic() < end:
    try:
        frame = seen.recv(65536)
    except TimeoutError:
        continue
    head = 14 + (frame[14] & 15) * 4
    if frame[23] != 17 or frame[30] != 239 or frame[26:30] == socket.inet_aton(own):
        continue
    to, payload = (socket.inet_ntoa(frame[30:34]), int.from_bytes(frame[head + 2:head + 4], "big")), frame[head + 8:]
    kept = kept[-400:] + [payload]
    flipped = bytearray(payload)
    flipped[replayed % len(flipped)] ^= 1
    for what in (bytes(flipped), b"garbage", payload[:16] + bytes(1400), kept[0], payload, b""):
        out.sendto(what, to)
    replayed += 1
print(replayed, flush=True)
"""


def test_a_stranger_changes_nothing(here):
    """It hears all that goes to the group, and sends garbage, flipped bits and old packets there."""
    from sys import executable
    n4 = here.cluster.names[3]
    stranger = here.cluster.start(n4, [executable, "-c", STRANGER, here.cluster.address(n4), "20"])
    assert stranger.stdout.readline() == "ready\n", stranger.stderr.read()
    found = here.broadcasts(60, 65536, 1 << 20, "roots", hosts=here.cluster.names[:3])
    assert len(found) == 2
    out, err = stranger.communicate(timeout=60)
    assert int(out.split()[-1]) > 100, out + err


def test_a_link_that_is_down_for_a_moment_loses_nothing(here):
    job = here.site.start("--hosts", ",".join(here.cluster.names), "env", "SERRIED_TRANSPORT=wire:multicast", here.program,
                          "300", "65536", "1000000")
    time.sleep(1)
    here.cluster.unplug("n3")
    time.sleep(5)
    here.cluster.plug("n3")
    out, err = job.communicate(timeout=120)
    assert job.returncode == 0 and len(LINE.findall(out)) == 2, out + err


def test_a_member_that_does_not_come_is_named(here):
    source = here.cluster.folder / "absent.c"
    source.write_text("""
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *buffer = calloc(1, 1 << 20);
    for (int round = 0; round < 10; round++) MPI_Bcast(buffer, 1 << 20, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 3) MPI_Recv(buffer, 1, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(buffer, 1 << 20, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
""")
    program = compiled(str(source.relative_to(source.parents[3])), here.cluster.folder / "absent")
    said = here.site.run("--on-deadlock", "abort", "--hosts", ",".join(here.cluster.names), "env",
                         "SERRIED_TRANSPORT=wire:multicast", program)
    assert said.returncode == 123, said.stderr
    assert "rank 3 has not come to MPI_Bcast (number 11) on MPI_COMM_WORLD, where ranks 0, 1 and 2 wait" in said.stderr, said.stderr


@pytest.mark.parametrize("victim", [0, 2, 3])
def test_others_outlive_a_member_that_dies(here, victim):
    """The root, an inner rank of the tree, or a leaf."""
    program = compiled("tests/hosts/broken_broadcasts.c", here.cluster.folder / "broken")
    said = here.site.run("--on-failure=continue", "--hosts", ",".join(here.cluster.names), "env",
                         "SERRIED_TRANSPORT=wire:multicast", program, str(victim))
    assert said.returncode == 0 and said.stdout.count("well") == 3, said.stdout + said.stderr
