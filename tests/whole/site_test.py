"""site_test.py LANGEVIN FOLDER BROWSER_DIGESTS: builds the site into FOLDER, serves it, and opens every page in headless
Chromium.

Nothing is requested from elsewhere, nothing is written to the console, every formula is rendered, no page is wider than a
phone, the search finds an agent, and agents that learn in the browser have the bits of this machine. In one page of each kind axe-core finds no fault, on a desktop in light colors and on
a phone in dark ones; their screenshots stay in FOLDER. Exit code 77, a skip, where Chromium or .venv-site is missing.
"""
import functools
import http.server
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "helpers"))
import chromium

# One page of each kind: these are also kept as pictures.
LOOKED_AT = [
    "index.html", "start-c.html", "browser.html", "gallery.html", "agents/adam-lmcdqn.html", "environments/riverswim.html",
    "reference/c-4.html", "results/bandits.html", "source/examples/own_loop.c.html",
]  # fmt: skip
PHONE, DESKTOP = (390, 844), (1280, 900)


def skip(reason):
    print(f"skipped: {reason}; `make test-site` installs it")
    sys.exit(77)


def build(langevin, folder):
    environment = {**os.environ, "LANGEVIN": str(pathlib.Path(langevin).resolve()), "NO_MKDOCS_2_WARNING": "1"}
    command = [ROOT / ".venv-site/bin/mkdocs", "build", "--quiet", "-f", ROOT / "site/mkdocs.yml", "-d", folder / "html"]
    subprocess.run([ROOT / "scripts/browser"], check=True)
    subprocess.run(command, check=True, env=environment)
    return folder / "html"


class Server(http.server.ThreadingHTTPServer):
    """The site on a free port of this machine."""

    def __init__(self, folder):
        handler = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
        super().__init__(("127.0.0.1", 0), functools.partial(handler, directory=str(folder)))
        self.url = f"http://127.0.0.1:{self.server_port}/"
        threading.Thread(target=self.serve_forever, daemon=True).start()


def faults_of(browser, site):
    """What is wrong with the page that is open, apart from its accessibility."""
    faults = []
    for event in browser.events:
        method, params = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent" and not params["request"]["url"].startswith((site, "data:", "blob:")):
            faults.append(f"a request to {params['request']['url']}")
        entry = params.get("entry", {})
        if method == "Runtime.exceptionThrown" or method == "Log.entryAdded" and entry.get("level") == "error":
            faults.append(f"on the console: {entry.get('text') or params}")
    formulas, rendered, failed = browser.value(
        "['.formula', '.formula .katex-html', '.katex-error'].map(s => document.querySelectorAll(s).length)"
    )
    if formulas != rendered or failed:
        faults.append(f"{rendered} of {formulas} formulas are rendered, {failed} are wrong")
    width = browser.value("document.documentElement.scrollWidth")
    if width > PHONE[0]:
        faults.append(f"{width} pixels wide on a phone")
    return faults


def violations(browser, axe):
    """What axe-core finds. The theme puts every button that copies code into a landmark of its own: that rule is off."""
    browser.value(axe + "; 0")
    found = browser.value(
        "axe.run(document, {resultTypes: ['violations'], rules: {'landmark-unique': {enabled: false}}}).then(r => r.violations.map(v => [v.id, v.help, "
        "v.nodes.slice(0, 3).map(n => n.target.join(' ') + ' ' + (n.any[0] ? n.any[0].message : ''))]))"
    )
    return [f"{name}: {text}: {nodes}" for name, text, nodes in found]


def look_at(browser, site, page, axe, folder):
    faults, name = [], page.replace("/", "-").replace(".html", "")
    for scheme, size, (width, height) in (("light", "desktop", DESKTOP), ("dark", "phone", PHONE)):
        browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        browser.resize(width, height)
        browser.value("localStorage.clear()")  # the pages remember their colors there
        browser.open(site + page)
        browser.screenshot(folder / f"{name}-{size}-{scheme}.png")
        faults += [f"{size}, {scheme}: {fault}" for fault in violations(browser, axe)]
        colors = browser.value("document.body.dataset.mdColorScheme")
        if colors != {"light": "default", "dark": "slate"}[scheme]:
            faults.append(f"{scheme} colors were asked for, and {colors} ones came")
    return faults


def search_faults(browser, site):
    """The search finds an agent by its name."""
    browser.resize(*DESKTOP)
    browser.open(site + "index.html")
    browser.value("document.querySelector('[data-md-component=search-query]').focus()")
    browser.ask("Input.insertText", text="pathwise-lmcdqn")
    found = browser.value(
        "new Promise(found => { let left = 100; const look = setInterval(() => {"
        " const first = document.querySelector('.md-search-result__link');"
        " if (first || --left == 0) { clearInterval(look); found(first ? first.href : ''); } }, 100); })"
    )
    return [] if "agents/pathwise-lmcdqn.html" in found else [f"the search for pathwise-lmcdqn finds '{found}'"]


def live_faults(browser, site, digests, folder):
    """The page that learns, started by its button: the fingerprints after 100 episodes are those of `digests`."""
    wrong = []
    for world, settings in (("DeepSea", "env.name=deepsea"), ("scrambled N-Chain", "env.name=nchain env.scramble=true")):
        browser.resize(*DESKTOP)
        browser.open(site + "browser.html")
        browser.value(
            f"world.value = '{world}'; world.dispatchEvent(new Event('change'));"
            "size.value = '10'; size.dispatchEvent(new Event('change')); speed.value = 'as fast as it goes'; run.click();"
        )
        shown = browser.value(
            "new Promise(done => { const look = setInterval(() => {"
            " const found = [...document.querySelectorAll('.live-agents code')].map(code => code.textContent);"
            " if (found.includes('not yet') && document.querySelector('.live-fault').hidden) return;"
            " clearInterval(look); run.click(); done(found); }, 100); })"
        )
        browser.screenshot(folder / f"browser-{world.split()[0]}.png")
        agents = browser.value("Object.keys(AGENTS)")
        cases = "".join(f"{settings} env.n=10 agent.name={agent}\n" for agent in agents)
        answer = subprocess.run([digests, "100"], input=cases, capture_output=True, text=True, check=True).stdout
        expected = [line.split(": ")[1] for line in answer.splitlines()]
        if shown != expected:
            wrong.append(f"browser.html: in {world} {agents} have {shown} in Chromium and {expected} here")
    return wrong


def main():
    langevin, folder, digests = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    program = chromium.find()
    axe = next(ROOT.glob(".venv-site/lib/python*/site-packages/axe_playwright_python/axe.min.js"), None)
    if not program or not axe:
        skip("there is no chromium" if not program else "there is no .venv-site")
    folder.mkdir(parents=True, exist_ok=True)
    html = build(langevin, folder)
    pages = sorted(str(path.relative_to(html)) for path in html.rglob("*.html"))
    site = Server(html).url
    wrong = []
    with tempfile.TemporaryDirectory() as profile:
        browser = chromium.Browser(program, profile)
        try:
            for page in pages:
                browser.resize(*PHONE)
                browser.open(site + page)
                faults = faults_of(browser, site)
                if page in LOOKED_AT:
                    faults += look_at(browser, site, page, axe.read_text(), folder)
                wrong += [f"{page}: {fault}" for fault in faults]
            wrong += search_faults(browser, site)
            wrong += live_faults(browser, site, digests, folder)
        finally:
            browser.close()
    wrong += [f"{page} is missing" for page in set(LOOKED_AT) - set(pages)]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(pages)} pages are sound")


main()
