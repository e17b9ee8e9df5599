"""`serried top --web` in a real browser: it shows what is true, and nobody else can look."""

import http.client
import json
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

from launching import PATIENCE, SERRIED
from rates import near, rounded, times

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")


@pytest.fixture
def site(launcher):
    """Starts `serried top --web`: (process, address)."""
    started = []

    def begin(job, *arguments):
        whose = [str(job.process.pid), "--web"] if job else []
        command = [SERRIED, "top", *whose, *map(str, arguments)]
        process = subprocess.Popen(command, env=launcher.environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True)
        started.append(process)
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[0-9a-f]{32}/", address)
        return process, address

    yield begin
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def browser(tmp_path, launcher):
    """A browser without a window."""
    if not (BROWSER and DRIVER):
        pytest.skip("no chromium with chromedriver here (scripts/setup test-tools)")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    # A container has neither the sandbox's rights nor a large /dev/shm.
    for word in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "disable-gpu", "window-size=1200,1800",
                 f"user-data-dir={tmp_path / 'browser'}"):
        options.add_argument("--" + word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER, env=launcher.environment))
    yield driver
    driver.quit()


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, "the page does not come to show it"
        time.sleep(0.1)


# What the page shows, and the report that it has drawn, at one moment.
SHOWN = """
    const cells = {}, table = {};
    for (const rect of document.querySelectorAll("#matrix rect[data-from]"))
        cells[rect.dataset.from + " " + rect.dataset.to] = [Number(rect.dataset.value), rect.textContent];
    for (const row of document.querySelectorAll("#ranks tbody tr"))
        table[row.dataset.rank] = Object.fromEntries([...row.cells].map((c) => [c.dataset.column, [c.textContent, c.dataset.value]]));
    return { cells, table, tiles: ["messages", "bytes", "waiting", "memory"].map((id) => document.getElementById(id).textContent),
             time: report ? report.time : 0, interval: report ? report.interval : 0,
             parts: [...document.querySelectorAll("#time-chart polygon")].map((p) => p.dataset.part),
             curves: document.querySelectorAll("polyline.curve").length, state: document.getElementById("state").textContent };
"""


def test_the_page_shows_the_true_rates_and_the_matrix(start, site, browser):
    job = start(8)
    job.wait_until_it_flows()
    _, address = site(job, "--interval", 2)
    browser.get(address)
    wait_for(lambda: browser.execute_script(SHOWN)["curves"] == 2)
    shown = browser.execute_script(SHOWN)
    own = browser.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    complaints = browser.get_log("browser")
    dark = []
    for scheme in ("light", "dark"):
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        dark.append(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
    job.end()
    begin, end = shown["time"] - shown["interval"], shown["time"]
    truth = {}
    for rank in range(8):
        a_second = times(job.steps(rank, begin, end), 1 / shown["interval"])
        row = shown["table"][str(rank)]
        near(float(row["messages"][1]), times(a_second, rank + 2), f"messages of rank {rank}")
        near(float(row["bytes"][1]), times(a_second, 64 * (rank + 1) ** 2 + 20000), f"bytes of rank {rank}")
        for peer, (_, size) in job.flows(rank).items():
            truth[f"{rank} {peer}"] = times(a_second, size)
    assert shown["cells"].keys() == truth.keys()
    for pair, size in truth.items():
        near(shown["cells"][pair][0], size, f"bytes {pair}")
    assert "rank 0 to rank 3" in shown["cells"]["0 3"][1]
    least, most = rounded(shown["tiles"][0])
    truth = [times(job.steps(rank, begin, end), (rank + 2) / shown["interval"]) for rank in range(8)]
    assert most >= sum(row[0] for row in truth) and least <= sum(row[1] for row in truth), (shown["tiles"], truth)
    assert "%" in shown["tiles"][2]
    assert shown["parts"] == ["computing", "waiting", "copying", "library"]
    assert complaints == [] and dark[0] != dark[1]
    assert own and all(name.startswith(address) for name in own)


def test_the_end_of_the_job_is_shown_and_the_page_stays(start, site, browser):
    job = start(4)
    job.wait_until_it_flows()
    process, address = site(job, "--interval", 0.2)
    browser.get(address)
    wait_for(lambda: browser.execute_script(SHOWN)["curves"] == 2)
    job.end()
    wait_for(lambda: "ended" in browser.execute_script(SHOWN)["state"])
    browser.refresh()
    wait_for(lambda: "ended" in browser.execute_script(SHOWN)["state"])
    shown = browser.execute_script(SHOWN)
    steps = len(job.said[0])
    assert shown["cells"]["0 3"][0] >= 20000 * steps
    assert all(row["state"][0] == "finalized" for row in shown["table"].values())
    # Sorting by a click on a head.
    browser.execute_script("document.querySelector('th[data-column=sent]').click()")
    assert list(browser.execute_script(
        "return [...document.querySelectorAll('#ranks tbody tr')].map((row) => row.dataset.rank)")) == ["3", "2", "1", "0"]
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 143
    wait_for(lambda: not listens(port_of(address)))


def port_of(address):
    return int(address.split(":")[2].split("/")[0])


def listens(port, host="127.0.0.1"):
    try:
        socket.create_connection((host, port), 1).close()
        return True
    except OSError:
        return False


def ask(port, path, method="GET", body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request(method, path, body, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), dict(answer.getheaders())


def parts(address):
    """Port and path of an address."""
    return port_of(address), "/" + address.split("/", 3)[3]


def test_a_number_behind_web_is_a_process_and_a_port_stands_behind_an_equals_sign(start, site, launcher):
    jobs = [start(2), start(3)]
    for job in jobs:
        job.wait_until_it_flows()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    for job in jobs:
        for arguments in (["--web", job.process.pid], [job.process.pid, f"--web={free}"]):
            process, address = site(None, *arguments)
            port, path = parts(address)
            assert (port == free) == (arguments[0] != "--web")
            shown = wait_for(lambda: json.loads(ask(port, path + "data")[1])["report"])
            assert len(shown["ranks"]) == job.ranks, arguments
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)
    refused = subprocess.run([SERRIED, "top", "--web", "1"], capture_output=True, text=True, env=launcher.environment)
    assert refused.returncode == 1 and "if 1 is meant as a port: --web=1" in refused.stderr
    for job in jobs:
        job.end()


def test_the_page_can_be_read_and_nothing_else(start, site):
    job = start(2)
    job.wait_until_it_flows()
    _, address = site(job)
    port, path = parts(address)
    _, page, head = ask(port, path)
    status, body, headers = ask(port, path, "HEAD")
    assert (status, body, headers["Content-Length"]) == (200, "", head["Content-Length"])
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get"):
        for body in (None, "", "a body", "x" * 500_000):
            status, text, headers = ask(port, path, method, body)
            assert (status, headers["Allow"]) == (405, "GET, HEAD") and "page" in text, (method, body and len(body))
            assert ask(port, "/", method, body)[0] == 403
    assert ask(port, path, "POST", iter([b"in ", b"pieces"]))[0] == 405
    for words, status in ((b"nonsense\r\n\r\n", b"400 Bad"), (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 5000, b"431 ")):
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as stream:
            stream.sendall(words)
            assert stream.recv(100).startswith(b"HTTP/1.1 " + status)
    assert ask(port, path)[1] == page
    job.end()


def test_only_who_has_the_token_gets_anything(start, site):
    job = start(2)
    job.wait_until_it_flows()
    _, address = site(job)
    port, path = port_of(address), "/" + address.split("/", 3)[3]
    status, text, headers = ask(port, path)
    assert status == 200 and "<title>serried top" in text
    assert "default-src 'none'" in headers["Content-Security-Policy"] and headers["Cache-Control"] == "no-store"
    assert not re.search(r"https?://", text)
    for wrong in ("/", "/" + "0" * 32 + "/", path[:-2] + "/", path[:-1], "/data", path.upper()):
        status, text, _ = ask(port, wrong)
        assert status in (403, 404) and "traffic" not in text, wrong
    assert ask(port, path + "data", Host=f"evil.example:{port}")[0] == 403
    assert ask(port, path + "data", Origin="http://evil.example")[0] == 403
    assert ask(port, path + "data", Host=f"localhost:{port}")[0] == 200
    assert ask(port, path + "../../etc/passwd")[0] == 404
    job.end()


def test_other_machines_cannot_connect(start, site):
    job = start(2)
    job.wait_until_it_flows()
    _, address = site(job)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: only asks for the way
            own = probe.getsockname()[0]
        except OSError:
            pytest.skip("this machine has no address but the loopback's")
    assert listens(port_of(address)) and not listens(port_of(address), own)
    job.end()


def test_nonsense_on_the_wire_does_not_stop_it(start, site):
    job = start(2)
    job.wait_until_it_flows()
    _, address = site(job)
    port = port_of(address)
    for words in (b"\0" * 100, b"GET\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 5000, b"POST / HTTP/1.1\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", port), 5) as stream:
            stream.sendall(words)
    idle = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(40)]
    for stream in idle:
        stream.close()
    path = "/" + address.split("/", 3)[3]

    def answers():
        try:
            return ask(port, path)[0] == 200
        except OSError:
            return False  # it has not yet noticed that the idle ones have gone

    wait_for(answers)
    job.end()
