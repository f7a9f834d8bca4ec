"""report_page_test.py LANGEVIN FOLDER: opens a report in headless Chromium, by its debugging pipe.

No request may leave the page, nothing may be written to the console, texts are escaped, the values that appear under the pointer
are those of `langevin compare`, and the page can be read without its script. Screenshots stay in FOLDER. Exit code 77, a
skip, where there is no Chromium.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import chromium

TITLE = '<b>Title</b> & "more"'
LABEL = "<i>lmc</i>"


def point(browser, plot, right, down):
    """Moves the pointer to a place of the plot in shares of its size; returns the text that appears."""
    browser.value(f"document.querySelectorAll('.plot')[{plot}].scrollIntoView({{block: 'center'}})")
    x, y, width, height = browser.value(f"(r => [r.x, r.y, r.width, r.height])"
                                        f"(document.querySelectorAll('.plot')[{plot}].getBoundingClientRect())")
    browser.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x + right * width, y=y + down * height)
    return browser.value(f"(t => t.hidden ? '' : t.textContent)(document.querySelectorAll('.plot')[{plot}]"
                         f".querySelector('.tip'))")


def check(condition, what):
    if not condition:
        sys.exit(f"wrong: {what}")


def check_quiet(browser, page):
    for event in browser.events:
        method, params = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            check(url == page.as_uri() or url.startswith("data:"), f"a request to {url}")
        check(method not in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"),
              f"on the console: {params}")


def make_runs(langevin, root):
    run = [langevin, "run", "--env", "riverswim", "--set", "env.n=4", "--set", "env.horizon=6", "--episodes", "40", "--seeds",
           "3", "--quiet"]
    for agent in ("lmc-lsvi", "lsvi-ucb"):
        subprocess.run([*run, "--agent", agent, "--out", str(root / agent)], check=True, stdout=subprocess.DEVNULL)
    (root / "grid.yaml").write_text("env: {name: riverswim, n: 4, horizon: 6}\nagent: lmc-lsvi\nrun.episodes: 10\n"
                                    "grid: {agent.lambda: [1, 0.1], agent.beta: [1, 10]}\nseeds: {count: 2}\n"
                                    "measure: regret\n")
    subprocess.run([langevin, "sweep", str(root / "grid.yaml"), "--out", str(root / "grid"), "--quiet"], check=True,
                   stdout=subprocess.DEVNULL)


def test_comparison(browser, langevin, root, folder):
    inputs = [f"{LABEL}={root / 'lmc-lsvi'}", f"UCB={root / 'lsvi-ucb'}"]
    page = root / "two.html"
    subprocess.run([langevin, "report", *inputs, "--out", str(page), "--title", TITLE], check=True,
                   stdout=subprocess.DEVNULL)
    text = page.read_text()
    check(not re.search(r"(src|href)=[\"'](?!#|data:)", text.replace('href="#', "")), "something is loaded")
    check("langevin run --env riverswim --agent lsvi-ucb" in text, "no command that repeats a run")
    browser.open(page)
    check(browser.value("document.title") == TITLE, "the title")
    check(browser.value("document.querySelectorAll('i, b').length") == 0, "text has become elements")
    check(browser.value("document.querySelectorAll('.plot svg').length") == 4, "the number of figures")
    ids = browser.value("[...document.querySelectorAll('[id]')].map(e => e.id)")
    check(len(ids) > 10 and len(ids) == len(set(ids)), "ids of figures clash")
    check(point(browser, 0, 0.001, 0.999) == "", "a value where there is nothing")
    rows = json.loads(subprocess.run([langevin, "compare", *inputs, "--measure", "regret", "--json"], check=True,
                                     capture_output=True).stdout)["rows"]
    # the right edge of the data of the first figure, cumulative regret, is the measure itself
    frame, size = browser.value("(d => [d.frame, d.size])(JSON.parse(document.querySelector('.plot script').textContent))")
    tip = point(browser, 0, (frame[1] - 1) / size[0], 0.5)
    for row, label in zip(rows, (LABEL, "UCB")):
        found = re.search(re.escape(label) + r": (\S+) \[(\S+), (\S+)\]", tip)
        check(found, f"no {label} in '{tip}'")
        for text, value in zip(found.groups(), (row["mean"]["value"], row["mean"]["low"], row["mean"]["high"])):
            check(abs(float(text) - value) <= 6e-4 * abs(value), f"{label}: {text} is not {value}")
    check(point(browser, 2, 0.3, 0.5).startswith(LABEL + ": "), "no value of a bar")
    browser.screenshot(folder / "report.png")
    check_quiet(browser, page)
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(page)
    browser.screenshot(folder / "report-without-script.png")
    browser.ask("Emulation.setScriptExecutionDisabled", value=False)


def test_sweep(browser, langevin, root, folder):
    subprocess.run([langevin, "report", str(root / "grid")], check=True, stdout=subprocess.DEVNULL)
    page = root / "grid" / "report.html"
    browser.open(page)
    plots = browser.value("document.querySelectorAll('.plot').length")
    tips = [point(browser, k, 0.3, 0.4) for k in range(plots)]
    check(any(re.match(r"agent.lambda \S+, agent.beta \S+: [\d.]+$", tip) for tip in tips), f"no heat map: {tips}")
    browser.screenshot(folder / "report-sweep.png")
    check_quiet(browser, page)


def main():
    langevin, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    program = chromium.find()
    if not program:
        print("skipped: there is no chromium; `make test-report` installs it")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(temporary)
        make_runs(langevin, root)
        browser = chromium.Browser(program, root / "profile")
        try:
            test_comparison(browser, langevin, root, folder)
            test_sweep(browser, langevin, root, folder)
        finally:
            browser.close()
    print("the report is sound")


main()
