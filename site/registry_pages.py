"""Pages of the registry: one for every agent, environment, optimizer and feature map, and a list of each kind."""

import json
import re
import subprocess

import prose
import python_api

# The words of `langevin list --json`, the folder of their pages, and the prefix of their settings.
KINDS = {
    "agents": ("agents", "agent", "agent."),
    "envs": ("environments", "env", "env."),
    "optimizers": ("optimizers", "optimizer", "optim."),
    "features": ("features", "features", "features."),
}
TITLES = {"agents": "All agents", "envs": "All environments", "optimizers": "All optimizers", "features": "All feature maps"}


def read(langevin):
    """The registry of a built command line."""
    return json.loads(subprocess.run([langevin, "list", "--json"], check=True, capture_output=True, text=True).stdout)


def page_name(kind, name):
    return f"{KINDS[kind][0]}/{name}.md"


# ---- Text from the sources


def optimizer_source(root, name):
    """Optimizers are sections of a few files: the one that has the descriptor."""
    return next(
        (str(file.relative_to(root)) for file in sorted((root / "src/optim").glob("*.c")) if f'.name = "{name}"' in file.read_text()),
        None,
    )


def own_text(comments, name):
    """The comment that begins with the name ("adam-lmcdqn. ..."), or the section of that name ("---- sgd ... ----")."""
    for text in comments[1:]:
        if text.startswith(name + ". "):
            return text[len(name) + 2:]
        section = re.match(rf"---- {re.escape(name)}\b(?!-)(.*?)----", text, re.S)
        if section:
            title = re.sub(r"^\((.*?)\)", r"\1", section.group(1).strip(": \n"))
            return f"{title[:1].upper()}{title[1:]}\n\n{text[section.end():]}".strip()
    return None


def description(root, source, name):
    comments = prose.comments_of((root / source).read_text())
    own = own_text(comments, name)
    head = prose.markdown(comments[0])
    if own is None:
        return f"## What it does\n\n{head}\n"
    return f"## What it does\n\n{prose.markdown(own)}\n\n## Its file\n\n{head}\n"


# ---- Parameters


def cell(text):
    return prose.escape(text) if text else ""


def code_cell(text):
    return f"`{text.replace('|', chr(92) + '|')}`" if text else ""


def preset_values(entry):
    return {name: dict(word.split("=", 1) for word in values.split()) for name, values in entry.get("presets", {}).items()}


def parameter_table(params, prefix, presets):
    """presets: {preset: {key: value}}; one column each, as `langevin help` has them."""
    columns = ["parameter, what it accepts, its meaning", "default", *presets]
    rows = ['<div class="parameters" markdown>\n', "| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    for param in params:
        key = prefix + param["name"]
        accepts = param["accepts"]
        if param["name"] == "preset" and presets:
            accepts = " | ".join(word for word in accepts.split(" | ") if word in presets or word == "auto")
        values = [code_cell(preset.get(key, "")) for preset in presets.values()]
        cells = [f"`{key}`<br>{cell(accepts)}; {cell(param['help'])}", code_cell(param["default"]), *values]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n\n</div>\n"


def parameters(registry, kind, entry):
    prefix = KINDS[kind][2]
    presets = preset_values(entry)
    text = "## Parameters\n\n"
    if presets:
        text += "A preset gives the values that you leave open; an empty cell is the default.\n\n"
    if not entry["params"]:
        return text + "None.\n"
    text += parameter_table(entry["params"], prefix, presets)
    name = entry.get("optimizer")
    if name:
        optimizer = next(other for other in registry["optimizers"] if other["name"] == name)
        text += f"\n### Of its optimizer, {name}\n\n" + parameter_table(optimizer["params"], "optim.", presets)
    return text


# ---- Pages


def example_env(entry):
    if "for bandits" in entry["summary"]:
        return "bandit"
    if "finitely many states" in entry["takes"]:
        return "riverswim"
    return "pendulum" if "continuous" in entry["takes"] else "cartpole"


def example(kind, entry, cls):
    name = entry["name"]
    if kind == "agents":
        env = example_env(entry)
        budget = "--episodes 1000" if env in ("bandit", "riverswim") else "--steps 50000"
        commands = f"langevin run --env {env} --agent {name} {budget}\nlangevin help agent {name} --env {env}"
        return f"```sh\n{commands}\n```\n\nIn Python it is `langevin.{cls}`; see [Python](../python.md).\n"
    command = {
        "envs": f"langevin help env {name}",
        "optimizers": f"langevin run --env nchain --agent adam-lmcdqn --set optim.name={name} --steps 10000",
        "features": f"langevin help features {name}",
    }[kind]
    return f"```sh\n{command}\n```\n"


def entry_page(root, registry, kind, entry, cls):
    name = entry["name"]
    source = entry.get("source") or optimizer_source(root, name)
    facts = [f"{entry['summary'][0].upper()}{cell(entry['summary'][1:])}.\n"]
    if "takes" in entry:
        facts.append(f"* It takes {cell(entry['takes'])}.")
    if "optimizer" in entry:
        facts.append(f"* Its optimizer is [{entry['optimizer']}](../optimizers/{entry['optimizer']}.md), unless `optim.name` says otherwise.")
    facts.append(f"* Its file is [{source}](../../{source}).\n")
    return "\n".join(
        [f"# {name}\n", *facts, example(kind, entry, cls), description(root, source, name), parameters(registry, kind, entry)]
    )


def list_page(kind, entries):
    rows = [f"# {TITLES[kind]}\n", f"`langevin list {kind}` prints this list.\n", "| name | what it is |", "|---|---|"]
    rows += [f"| [{entry['name']}]({entry['name']}.md) | {cell(entry['summary'])} |" for entry in entries]
    return "\n".join(rows) + "\n"


def agents_with_classes(root, registry):
    classes = python_api.agent_classes(root)
    return [(entry["name"], classes[entry["summary"].lower()]) for entry in registry["agents"]]


def pages(root, registry):
    classes = dict(agents_with_classes(root, registry))
    out = {}
    for kind, entries in registry.items():
        out[f"{KINDS[kind][0]}/index.md"] = list_page(kind, entries)
        for entry in entries:
            out[page_name(kind, entry["name"])] = entry_page(root, registry, kind, entry, classes.get(entry["name"]))
    return out
