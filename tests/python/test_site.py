"""The generated pages of the site: nothing of the registry, the header or the package is left out, and links lead
somewhere. `make site` builds the pages, tests/whole/site_test.py opens them in a browser."""

import ast
import os
import re
import shutil
import sys

import pytest
from conftest import ROOT

sys.path.append(str(ROOT / "site"))
import formula
import header
import links
import pages
import prose
import registry_pages

LANGEVIN = os.environ.get("LANGEVIN_COMMAND") or shutil.which("langevin")
pytestmark = pytest.mark.skipif(not LANGEVIN, reason="there is no command line: build it, or set LANGEVIN_COMMAND")


@pytest.fixture(scope="module")
def made():
    return pages.generated(LANGEVIN)


def test_every_entry_of_the_registry_has_a_page(made):
    registry = registry_pages.read(LANGEVIN)
    assert {kind for kind, entries in registry.items() if entries} == set(registry_pages.KINDS)
    for kind, entries in registry.items():
        for entry in entries:
            text = made[registry_pages.page_name(kind, entry["name"])]
            assert text.startswith(f"# {entry['name']}\n")
            for param in entry["params"]:
                assert f"| `{registry_pages.KINDS[kind][2]}{param['name']}`<br>" in text, (entry["name"], param["name"])
            described = text.split("## What it does\n")[1].split("\n## ")[0]
            assert len(described) > 60, f"{entry['name']}: the head of its file says nothing"


def test_every_public_function_is_in_the_reference(made):
    text = (ROOT / "include" / "langevin.h").read_text()
    functions = set(re.findall(r"\b(lgv_\w+)\(", re.sub(r"/\*.*?\*/", "", text, flags=re.S)))
    types = set(re.findall(r"^typedef (?:struct|enum|union) (lgv_\w+)", text, re.M))
    reference = "".join(text for path, text in made.items() if path.startswith("reference/c-"))
    anchors = links.anchors_of(reference)
    assert len(functions) > 100 and len(types) > 30
    assert not {name for name in functions | types if name not in anchors}


def test_the_header_is_shown_whole():
    """Every line of code of the four parts is on a page."""
    text = (ROOT / "include" / "langevin.h").read_text()
    shown = "\n".join(header.pages(text).values())
    declared = text[text.index("/* Part 1.") : text.rindex("#ifdef __cplusplus")]
    for line in re.sub(r"^/\*.*?\*/", "", declared, flags=re.S | re.M).splitlines():
        assert re.sub(r"^(LGV_API |LGV_CHECK )+", "", line).strip() in shown


def test_every_name_of_the_package_is_in_the_reference(made):
    stubs = ast.parse((ROOT / "python" / "langevin" / "__init__.pyi").read_text())
    for node in stubs.body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) and node.level else []
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.endswith("Params"):
            names.append(node.name)
        for name in names:
            assert re.search(rf"^## {name}$|`langevin\.{name}`", made["reference/python.md"], re.M), name


def test_every_link_leads_somewhere():
    texts, _ = pages.everything(LANGEVIN)
    assert links.broken(texts, lambda path: (ROOT / path).is_file()) == []


def test_the_navigation_has_every_written_page():
    nav = (ROOT / "site" / "mkdocs.yml").read_text()
    for path in pages.written():
        place = links.site_path(path)
        assert re.search(rf"\b{re.escape(place)}$", nav, re.M) or place.startswith("results/"), path


def test_broken_links_are_noticed():
    texts = {"docs/a.md": "# A b\n[x](b.md#there) [y](#a-b) ![z](../p.png)", "docs/b.md": "## There\n"}
    assert links.broken(texts, lambda path: path == "p.png") == []
    assert links.broken(texts, lambda path: False) == [("docs/a.md", "../p.png")]
    texts["docs/b.md"] = "## Here\n"
    assert ("docs/a.md", "b.md#there") in links.broken(texts, lambda path: True)
    assert links.broken({"docs/a.md": "```\n[x](gone.md)\n```\n"}, lambda path: False) == []


def test_links_of_the_site():
    assert links.for_site("README.md", "[a](docs/python.md#files) [b](LICENSE)") == "[a](python.md#files) [b](source/LICENSE.md)"
    assert links.for_site("docs/results/nchain.md", "[a](../../examples/own_env.c)") == "[a](../source/examples/own_env.c.md)"
    assert links.for_site("docs/python.md", "[a](https://example.org) [b](#x)") == "[a](https://example.org) [b](#x)"


@pytest.mark.parametrize(
    "source, tex",
    [
        ("w -= lr g", r"w \mathrel{-}= \text{ lr } g"),
        ("x <- rho x + sqrt(1 - rho^2) xi", r"x \leftarrow \rho x + \sqrt{1 - \rho ^{2}} \xi"),
        ("n ~ N(0, s0^2)", r"n \sim \mathcal{N} ( 0 , s_{0} ^{2} )"),
        ("a* = argmax_a Q(s', a; w-)", r"a^{*} = \operatorname*{argmax} _{a} Q ( s ' , a ; w^{-} )"),
        ("w- = w", r"w^{-} = w"),
        ("q = phi^T w_hat", r"q = \phi ^{T} \hat{w}"),
        ("d = Z_tau'_j", r"d = Z _{\tau'_{j}}"),
        ("y = g / (sqrt v + eps)", r"y = g / ( \sqrt{v} + \epsilon )"),
        ("f(x) = sign(x) sqrt|x|", r"f ( x ) = \operatorname{sign} ( x ) \sqrt{|x|}"),
        ("u = ||phi||_{Lambda^-1}", r"u = \| \phi \| _{\Lambda ^{-1}}"),
    ],
)
def test_formula(source, tex):
    assert formula.is_formula([source])
    assert formula.to_tex([source]) == r"\begin{aligned}&" + tex + r"\end{aligned}"


def test_tables_are_no_formulas():
    assert not formula.is_formula(["variant          right at s_1    right inside"])
    assert prose.markdown("A table:\n  a  b\n  1  2\n\nand text_here") == "A table:\n\n```text\na  b\n1  2\n```\n\nand text\\_here"


def test_formulas_are_balanced(made):
    found = [block for text in made.values() for block in re.findall(r'<div class="formula">(.*?)</div>', text)]
    assert len(found) > 20
    for block in found:
        plain = re.sub(r"\\[{}]", "", block)
        assert plain.count("{") == plain.count("}"), block
