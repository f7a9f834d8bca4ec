"""Comments and docstrings as Markdown."""

import re
import textwrap

import formula

COMMENT = re.compile(r"/\*(.*?)\*/", re.S)


def comment_text(comment):
    """The text of a C comment, without its stars."""
    lines = comment.strip("\n").split("\n")
    return "\n".join([lines[0].strip(), *(re.sub(r"^ ?\* ?", "", line).rstrip() for line in lines[1:])]).strip("\n")


def comments_of(text):
    return [comment_text(match.group(1)) for match in COMMENT.finditer(text)]


def escape(text):
    """Plain text as Markdown: settings and names of the library become code, spans of code stay."""
    parts = re.split(r"(`[^`\n]+`)", text)
    for i in range(0, len(parts), 2):
        plain = re.split(r"((?:agent|env|optim|run|features)\.[a-z_][\w.]*\w|\b(?:lgv|LGV)_\w+)", parts[i])
        for j in range(0, len(plain), 2):
            plain[j] = re.sub(r"([\\*_{}\[\]#|])", r"\\\1", plain[j].replace("&", "&amp;").replace("<", "&lt;"))
        for j in range(1, len(plain), 2):
            plain[j] = f"`{plain[j]}`"
        parts[i] = "".join(plain)
    return "".join(parts)


def math_block(lines):
    tex = formula.to_tex(lines).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f'<div class="formula">{tex}</div>'


def indented_block(lines):
    if formula.is_formula(lines):
        return math_block(lines)
    return "```text\n" + textwrap.dedent("\n".join(lines)) + "\n```"


def markdown(text):
    """The text of a comment: paragraphs, lists, and indented blocks of formulas, tables or code."""
    blocks, kind = [], None
    for line in text.split("\n"):
        if not line.strip():
            kind = None
            continue
        item = re.match(r"(\* |- |\d+\. )", line)
        now = "item" if item or kind == "item" and line.startswith(" ") else "indented" if line.startswith("  ") else "text"
        if item or now != kind:
            blocks.append((now, []))
        blocks[-1][1].append(line)
        kind = now
    out, before = [], None
    for kind, lines in blocks:
        if kind == "indented":
            out.append(indented_block(lines))
        elif kind == "item":
            joined = " ".join(line.strip() for line in lines)
            item = re.sub(r"^(?:\*|-|\d+\.) ", "", joined)
            out.append(("" if before == "item" else "\n") + "* " + escape(item))
        else:
            out.append(escape(" ".join(line.strip() for line in lines)))
        before = kind
    return "\n\n".join(out)
