"""Links between the pages: where a file of the repository is on the site, and which links lead nowhere.

A page is named by its path in the repository; generated pages have one below docs/, where no file is.
"""

import posixpath
import re
import unicodedata

# Files of the root folder that are pages.
ROOT_PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
}
FENCE = re.compile(r"^( *)(```+).*?^\1\2 *$", re.M | re.S)
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\()([^)\s]+)(\))")
OUTSIDE = re.compile(r"^(?:[a-z]+:|#)")


def site_path(path):
    """The page, or the file, of the site that shows a file of the repository."""
    if path in ROOT_PAGES:
        return ROOT_PAGES[path]
    if path.endswith(".ipynb"):
        return f"notebooks/{posixpath.basename(path)[:-len('.ipynb')]}.md"
    return path[len("docs/"):] if path.startswith("docs/") else f"source/{path}.md"


def outside_code(text, change):
    """Applies change to everything but blocks and spans of code."""
    out, at = [], 0
    for match in FENCE.finditer(text):
        out += [change(text[at:match.start()]), match.group(0)]
        at = match.end()
    return "".join([*out, change(text[at:])])


def links_of(text):
    found = []
    outside_code(text, lambda part: found.extend(match.group(2) for match in LINK.finditer(part)) or part)
    return found


def target_of(page, link):
    """The file of the repository, and the anchor, that a link of a page leads to."""
    path, _, anchor = link.partition("#")
    return (posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page), anchor


def for_site(page, text):
    """The text of a page with links to where the files are on the site."""
    start = posixpath.dirname(site_path(page)) or "."

    def move(match):
        before, link, after = match.groups()
        if OUTSIDE.match(link):
            return match.group(0)
        target, anchor = target_of(page, link)
        return before + posixpath.relpath(site_path(target), start) + ("#" + anchor if anchor else "") + after

    return outside_code(text, lambda part: LINK.sub(move, part))


def slug(heading):
    """The anchor of a heading, as Python-Markdown and GitHub make it."""
    plain = re.sub(r"`|\*|\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    ascii_only = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())


def anchors_of(text):
    found = set(re.findall(r'<a id="([^"]+)">', text))
    prose = FENCE.sub("", text)
    for heading in re.findall(r"^#+ +(.*?) *$", prose, re.M):
        given = re.search(r"\{ #([\w-]+) \}$", heading)
        name = given.group(1) if given else slug(heading)
        number = 0
        while (name if not number else f"{name}_{number}") in found:
            number += 1
        found.add(name if not number else f"{name}_{number}")
    return found


def broken(pages, is_file):
    """[(page, link)] that lead nowhere. pages: {path in the repository: text}; is_file: of other paths."""
    anchors = {path: anchors_of(text) for path, text in pages.items()}
    wrong = []
    for page, text in pages.items():
        for link in links_of(text):
            if OUTSIDE.match(link) and not link.startswith("#"):
                continue
            target, anchor = target_of(page, link)
            exists = target in pages or is_file(target)
            if not exists or anchor and anchor not in anchors.get(target, ()):
                wrong.append((page, link))
    return wrong
