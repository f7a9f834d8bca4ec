"""pages.py LANGEVIN [FOLDER]: the generated pages of the site, from the registry of a built command line and the sources.

Without FOLDER it only checks: every link of every page, generated or written, leads somewhere. With it, it also writes
the generated pages there, for a look at them as text.
"""

import json
import pathlib
import re
import subprocess
import sys

import header
import links
import python_api
import registry_pages

ROOT = pathlib.Path(__file__).resolve().parents[1]
LANGUAGES = {".c": "c", ".h": "c", ".py": "python", ".yaml": "yaml", ".def": "c"}


def command_page(langevin):
    """What `langevin help` prints for the program and each of its commands."""

    def ask(*words):
        return subprocess.run([langevin, *words], check=True, capture_output=True, text=True).stdout.strip()

    overview = ask("help")
    text = [f"# Command line\n\n```text\n{overview}\n```\n"]
    for line in overview.split("usage:")[1].split("for example:")[0].splitlines():
        words = line.split()
        if line.startswith("  ") and words:
            text.append(f"## langevin {words[0]}\n\n```text\n{ask('help', words[0])}\n```\n")
    return "\n".join(text)


def source_page(path):
    language = LANGUAGES.get(pathlib.PurePath(path).suffix, "text")
    return f"# {path}\n\n```{language}\n{(ROOT / path).read_text().rstrip()}\n```\n"


def notebook_page(path):
    """The cells of a notebook, without results; its formulas are TeX already."""
    text = []
    for cell in json.loads((ROOT / path).read_text())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            text.append(f"```python\n{source}\n```")
            continue
        source = re.sub(r"\$\$(.*?)\$\$", r'<div class="formula">\1</div>', source, flags=re.S)
        text.append(re.sub(r"\$([^$\n]+)\$", r'<span class="formula">\1</span>', source).replace("\\", "&#92;"))
    text.insert(1, f"This page shows `{path}`, a notebook to run yourself; the tests run it.")
    return "\n\n".join(text) + "\n"


def notebooks():
    return {str(file.relative_to(ROOT)): notebook_page(str(file.relative_to(ROOT))) for file in sorted((ROOT / "examples").glob("*.ipynb"))}


def generated(langevin):
    """{path on the site: Markdown}, without the pages of sources."""
    registry = registry_pages.read(langevin)
    out = registry_pages.pages(ROOT, registry)
    out.update(header.pages((ROOT / "include/langevin.h").read_text()))
    out[python_api.PAGE] = python_api.page(ROOT, registry_pages.agents_with_classes(ROOT, registry))
    out["reference/command-line.md"] = command_page(langevin)
    return out


def written():
    """{path in the repository: Markdown} of the pages that people write."""
    files = [ROOT / name for name in links.ROOT_PAGES] + sorted((ROOT / "docs").rglob("*.md"))
    return {str(file.relative_to(ROOT)): file.read_text() for file in files}


def sources(pages):
    """The files that a page links to and that are no pages, pictures or data: {path in the repository: Markdown}."""
    found = set()
    for page, text in pages.items():
        for link in links.links_of(text):
            target = links.target_of(page, link)[0]
            if not links.OUTSIDE.match(link) and links.site_path(target).startswith("source/") and (ROOT / target).is_file():
                found.add(target)
    return {path: source_page(path) for path in sorted(found)}


def everything(langevin):
    """Every page by its path in the repository, and the set of those that are generated."""
    made = {f"docs/{path}": text for path, text in generated(langevin).items()}
    return {**written(), **made, **notebooks()}, set(made)


def main():
    langevin = sys.argv[1]
    pages, made = everything(langevin)
    wrong = links.broken(pages, lambda path: (ROOT / path).is_file())
    for page, link in wrong:
        print(f"{page}: {link} leads nowhere", file=sys.stderr)
    if len(sys.argv) > 2:
        for path in made:
            file = pathlib.Path(sys.argv[2]) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(pages[path])
    print(f"{len(pages)} pages, {len(made)} of them generated")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
