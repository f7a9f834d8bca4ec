"""The C API: the pages of include/langevin.h, one for each of its parts."""

import re

import prose

PART = re.compile(r"^/\* Part (\d)\. (.*?) *\*/$", re.M)
SECTION = re.compile(r"^/\* ---- (.*?) ---- \*/$", re.M)
RULE = re.compile(r"^/\* =+ \*/\n", re.M)
PREFIX = re.compile(r"^(?:LGV_API |LGV_CHECK )+")
DECLARED = re.compile(
    r"^(?:LGV_API .*?\b(lgv_\w+)\(|typedef (?:struct|enum|union) (lgv_\w+)|#define (LGV_\w+)|enum \{ (LGV_\w+))"
)


def declared_names(code):
    """The names that some declarations add, in their order."""
    joined = re.sub(r"\n\s+", " ", code)
    return [next(filter(None, match.groups())) for line in joined.split("\n") if (match := DECLARED.match(line))]


def page_name(part):
    return f"reference/c-{part}.md"


class Item:
    """A comment and the declarations that follow it; without declarations, a remark on the section."""

    def __init__(self, comment, code):
        self.comment, self.code = comment, code
        self.names = declared_names(code)


def split_items(text):
    """A comment at the margin begins an item; it lasts to the next one, or to an empty line outside braces."""
    items, comment, code, depth = [], "", [], 0

    def close():
        nonlocal comment, code
        if comment or code:
            items.append(Item(comment, "\n".join(code)))
        comment, code = "", []

    lines = iter(text.split("\n"))
    for line in lines:
        if depth == 0 and line.startswith("/*"):
            close()
            while "*/" not in line:
                line += "\n" + next(lines)
            comment = prose.comment_text(line.strip()[2:-2])
        elif depth == 0 and not line.strip():
            close()
        else:
            code.append(line)
            depth += line.count("{") - line.count("}")
    close()
    return items


def parts(header):
    """[(number, title, [(section, [Item])])]"""
    pieces = PART.split(RULE.sub("", header))
    for number, title, text in zip(pieces[1::3], pieces[2::3], pieces[3::3]):
        text = text.split("#ifdef __cplusplus")[0]
        sections = SECTION.split(text)
        yield number, title, [(name, split_items(body)) for name, body in zip(sections[1::2], sections[2::2])]


def without_prefix(code):
    """A declaration without the macros of the library's build; continuation lines move along."""
    lines, shift = [], 0
    for line in code.split("\n"):
        match = PREFIX.match(line)
        if match or not line.startswith(" "):
            shift = match.end() if match else 0
        lines.append(line[match.end():] if match else line[min(shift, len(line) - len(line.lstrip())):])
    return "\n".join(lines)


def item_markdown(item, places, page):
    def link(match):
        name = match.group(1)
        place = places.get(name)
        if not place:
            return match.group(0)
        return f"[`{name}`]({'' if place == page else place.rsplit('/', 1)[1]}#{name.lower()})"

    comment = re.sub(r"`((?:lgv|LGV)_\w+)`", link, prose.markdown(item.comment))
    if not item.code:
        return comment + "\n"
    head = ""
    if item.names:  # further names get anchors of their own
        anchors = "".join(f'<a id="{name.lower()}"></a>' for name in item.names[1:])
        head = f"### `{item.names[0]}` {{ #{item.names[0].lower()} }}\n\n" + (anchors + "\n\n" if anchors else "")
    return f"{head}{comment}\n\n```c\n{without_prefix(item.code)}\n```\n"


def pages(header):
    """{path: Markdown} of the C API."""
    found = list(parts(header))
    places = {
        name: page_name(number)
        for number, _, sections in found for _, items in sections for item in items for name in item.names
    }  # fmt: skip
    out = {}
    for number, title, sections in found:
        page = page_name(number)
        text = [f"# C, part {number}: {title[0].lower()}{title[1:]}\n"]
        text.append("From [include/langevin.h](../../include/langevin.h), the one public header.\n")
        for name, items in sections:
            text.append(f"## {name}\n")
            text += [item_markdown(item, places, page) for item in items]
        out[page] = "\n".join(text)
    return out
