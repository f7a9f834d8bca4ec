"""What MkDocs asks while it builds the site: the generated pages, their places in the navigation, and links."""

import base64
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import links
import pages

from mkdocs.exceptions import ConfigurationError
from mkdocs.structure.files import File

KATEX = pathlib.Path(os.environ.get("KATEX", "/usr/share/javascript/katex"))  # of Debian's libjs-katex
WASM = pages.ROOT / "build-browser" / "langevin.wasm"  # of scripts/browser
EMPTY_HEAD = re.compile(r"<thead>\s*<tr>\s*(?:<th></th>\s*)+</tr>\s*</thead>")
_texts = {}  # {path on the site: (path in the repository, Markdown)}


def on_config(config):
    if not (KATEX / "katex.min.js").is_file():
        raise ConfigurationError(f"there is no KaTeX in {KATEX}: install Debian's libjs-katex, or let KATEX name its folder")
    if not WASM.is_file():
        raise ConfigurationError(f"there is no {WASM}: scripts/browser builds it, and `make site` calls that")
    texts, _ = pages.everything(os.environ["LANGEVIN"])
    texts.update(pages.sources(texts))
    _texts.clear()
    _texts.update({links.site_path(path): (path, text) for path, text in texts.items()})
    config.nav = fill(config.nav)
    return config


def fill(nav):
    """The navigation with the generated pages in the places of the words that begin with @."""
    out = []
    for item in nav:
        if isinstance(item, str) and item.startswith("@"):
            out += pages_below(item[1:], nav)
        elif isinstance(item, dict):
            title, value = next(iter(item.items()))
            if isinstance(value, str) and value.startswith("@"):
                value = pages_below(value[1:], nav)
            out.append({title: fill(value) if isinstance(value, list) else value})
        else:
            out.append(item)
    return out


def pages_below(folder, nav):
    """In the order of the registry, the list of them first; those that the navigation already names are left out."""
    named = [next(iter(item.values())) if isinstance(item, dict) else item for item in nav]
    return [path for path in _texts if path.startswith(folder + "/") and path not in named]


def on_files(files, config):
    for path, (_, text) in _texts.items():
        if not files.get_file_from_path(path):
            files.append(File.generated(config, path, content=text))
    for file in [*KATEX.glob("katex.min.*"), *KATEX.glob("fonts/*.woff2")]:
        files.append(File.generated(config, f"katex/{file.relative_to(KATEX)}", abs_src_path=str(file)))
    # As a text, because pages that are opened as files cannot load others.
    module = base64.b64encode(WASM.read_bytes()).decode()
    files.append(File.generated(config, "langevin-wasm.js", content=f'const LANGEVIN_WASM = "{module}";\n'))
    return files


def on_page_markdown(markdown, page, config, files):
    return links.for_site(_texts[page.file.src_uri][0], markdown)


def on_page_content(html, page, config, files):
    """Tables without headings need no empty row for them, and an empty cell is no heading."""
    return EMPTY_HEAD.sub("", html).replace("<th></th>", "<td></td>")


def on_post_page(output, page, config):
    """The theme's dialog has no name for those who hear the page."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')
