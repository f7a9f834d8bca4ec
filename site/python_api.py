"""The Python API: a page from the stubs (python/langevin/__init__.pyi) and the docstrings of what they name."""

import ast
import re

import prose

PAGE = "reference/python.md"


def exported(stubs):
    """The names that the stubs take from modules of the package: {name: module}."""
    found = {}
    for node in stubs.body:
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            for alias in node.names:
                found[alias.name] = node.module
    return found


def agent_classes(root):
    """The class of each agent, by the agent's summary, as the stubs have them."""
    stubs = ast.parse((root / "python/langevin/__init__.pyi").read_text())
    classes = {}
    for node in stubs.body:
        doc = ast.get_docstring(node) if isinstance(node, ast.ClassDef) else None
        if doc:
            classes[doc.rsplit(". help(", 1)[0].lower()] = node.name
    return classes


def definition(package, module, name):
    """The class or function that defines a name."""
    tree = ast.parse((package / f"{module.replace('.', '/')}.py").read_text())
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return node
    raise KeyError(f"{module}.py defines no class or function {name}")


def signature(function, owner=None):
    """Its parameters; self goes."""
    arguments = function.args
    if owner and arguments.args and arguments.args[0].arg in ("self", "cls"):
        arguments.args = arguments.args[1:]
    text = f"{function.name}({ast.unparse(arguments)})"
    if function.returns is not None:
        text += f" -> {ast.unparse(function.returns)}"
    return text.replace("'", "")


def wrap(text):
    """Long signatures: one parameter per line."""
    if len(text) <= 90:
        return text
    head, rest = text.split("(", 1)
    depth, parts, part = 0, [], ""
    end = rest.rindex(")")
    for letter in rest[:end]:
        depth += letter in "([{"
        depth -= letter in ")]}"
        if letter == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    parts.append(part.strip())
    return head + "(\n" + "".join(f"    {p},\n" for p in parts) + ")" + rest[end + 1:]


def code(text):
    return f"```python\n{wrap(text)}\n```\n"


def doc(node):
    return prose.markdown(ast.get_docstring(node) or "") + "\n"


def is_public(node):
    """A method without a docstring is for the package itself."""
    return isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and ast.get_docstring(node)


def class_markdown(node):
    text = [f"## {node.name}\n", doc(node)]
    init = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    if init:
        text.append(code(signature(init, node).replace("__init__", node.name, 1)))
    for function in filter(is_public, node.body):
        decorators = [ast.unparse(d) for d in function.decorator_list]
        if any(d.endswith(".setter") for d in decorators):
            continue
        text.append(f"### {node.name}.{function.name}\n")
        if "property" in decorators:
            returns = f": {ast.unparse(function.returns)}" if function.returns else ""
            text.append(code(f"{function.name}{returns}"))
        else:
            text.append(code(signature(function, node)))
        text.append(doc(function))
    return "\n".join(text)


def function_markdown(node):
    return f"## {node.name}\n\n{code(signature(node))}\n{doc(node)}"


def page(root, agents):
    """agents: (name, class) of every agent."""
    package = root / "python/langevin"
    stubs = ast.parse((package / "__init__.pyi").read_text())
    names = exported(stubs)
    names.update({node.name: "__init__" for node in stubs.body if isinstance(node, ast.FunctionDef)})
    found = {name: definition(package, module, name) for name, module in names.items()}
    text = ["# Python\n", "[Python](../python.md) is the tutorial; this page has every name of the package.\n"]
    text.append("## Agents\n\nOne class per agent; its page has the parameters.\n\n| class | agent |\n|---|---|")
    text += [f"| `langevin.{cls}` | [{name}](../agents/{name}.md) |" for name, cls in agents]
    text.append("")
    errors = [n for n in found.values() if isinstance(n, ast.ClassDef) and is_error(n)]
    for node in found.values():
        if isinstance(node, ast.ClassDef) and node not in errors:
            text.append(class_markdown(node))
    text += [function_markdown(node) for node in found.values() if isinstance(node, ast.FunctionDef)]
    text.append("## Errors\n\n| error | is also | means |\n|---|---|---|")
    for node in errors:
        bases = ", ".join(f"`{ast.unparse(base)}`" for base in node.bases)
        summary = re.sub(r"\s+", " ", ast.get_docstring(node) or "")
        text.append(f"| `langevin.{node.name}` | {bases} | {prose.escape(summary)} |")
    return "\n".join(text) + "\n"


def is_error(node):
    return any(ast.unparse(base) in ("Error", "Exception", "RuntimeError", "UsageError") for base in node.bases)
