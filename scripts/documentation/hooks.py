"""Hooks of mkdocs: pages that are generated, and links to files of the repository outside docs/."""

import html
import json
import os
import pathlib
import posixpath
import re
import subprocess
import sys

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from documentation import golden  # noqa: E402

LANGUAGES = {".py": "python", ".cpp": "cpp", ".h": "cpp", ".toml": "toml", ".json": "json", ".yml": "yaml"}
FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?\[(?:[^\]\[]|\[[^\]]*\])*\]\()([^)\s]+)(\))")
MARKER = re.compile(r"^<!-- (help|header|schema): (.+?) -->$", re.MULTILINE)
# A note for readers of the repository, where nothing fills in the generated parts.
NOTE = re.compile(r"<!-- repository: begin -->.*?<!-- repository: end -->\n", re.DOTALL)

# The path in the repository of each page that this adds, by its path in the site.
_origins = {}


def on_env(env, config, files):
    """The script that lets the search work from files is ours: the plugin `offline` would load it from another host."""
    config.extra["polyfills"] = ["assets/iframe-worker.js"]
    return env


def on_files(files, config):
    """Adds each file outside docs/ that a page links to, as a page: the site is whole without the repository."""
    _origins.clear()
    waiting = [("docs/" + file.src_uri, file.content_string) for file in files.documentation_pages()]
    while waiting:
        origin, text = waiting.pop()
        for target in outside_targets(origin, text):
            uri = site_uri(target)
            if uri in _origins:
                continue
            _origins[uri] = target
            content = content_of(target)
            files.append(File.generated(config, uri, content=content))
            waiting.append((target, content))
    return files


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    origin = _origins.get(uri, "docs/" + uri)
    text = outside_code(markdown, lambda prose: LINK.sub(lambda link: site_link(link, origin, uri), prose))
    return MARKER.sub(lambda marker: GENERATORS[marker[1]](marker[2]), NOTE.sub("", text))


def outside_code(text, change):
    """The text with all but its code blocks changed."""
    parts, end = [], 0
    for code in FENCED.finditer(text):
        parts += [change(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, change(text[end:])])


def is_outside(target):
    return not target.startswith("docs/") and target != "docs"


def resolved(origin, link):
    """The path in the repository that a relative link leads to; None for other links."""
    path = link.partition("#")[0]
    if not path or re.match(r"\w+:", link):
        return None
    target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
    return target if (ROOT / target).exists() else None


def outside_targets(origin, text):
    found = []
    outside_code(text, lambda prose: found.extend(link[2] for link in LINK.finditer(prose)) or prose)
    targets = (resolved(origin, link) for link in found)
    return [readme_of(target) for target in targets if target and is_outside(target)]


def readme_of(target):
    """A folder stands for its README.md when it has one."""
    readme = f"{target}/README.md"
    return readme if (ROOT / readme).exists() else target


def site_uri(target):
    """Where a file of the repository lies in the site."""
    if (ROOT / target).is_dir():
        return f"repository/{target}/README.md"
    return f"repository/{target}" if target.endswith(".md") else f"repository/{target}.md"


def site_link(link, origin, uri):
    target = resolved(origin, link[2])
    if target is None:
        return link[0]
    target = readme_of(target)
    wanted = site_uri(target) if is_outside(target) else target.removeprefix("docs/")
    _, hash_sign, anchor = link[2].partition("#")
    return link[1] + os.path.relpath(wanted, posixpath.dirname(uri) or ".") + hash_sign + anchor + link[3]


def content_of(target):
    path = ROOT / target
    if path.suffix == ".md":
        return path.read_text()
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
        names = [str(file.relative_to(path)) for file in files]
        return f"# {target}/\n\nThe files of this folder:\n\n```\n" + "\n".join(names) + "\n```\n"
    return f"# {target}\n\n```{LANGUAGES.get(path.suffix, '')}\n{path.read_text().rstrip()}\n```\n"


def help_of(command):
    words = command.split()
    result = subprocess.run(
        [str(golden.executable()), *words[1:], "--help"], capture_output=True, text=True, check=True
    )
    return f"```console\n$ {command} --help\n{result.stdout.rstrip()}\n```"


def header(path):
    """A header of a folder of src/, wherever it stands in there."""
    folder, _, name = path.partition("/")
    (path,) = (ROOT / "src" / folder).rglob(name)
    return f"```cpp\n{path.read_text().rstrip()}\n```"


def schema_tables(path):
    """The objects of a JSON Schema, a table each."""
    schema = json.loads((ROOT / path).read_text())
    found = [table("The report", schema)]
    found += [table(definition.get("title", name), definition) for name, definition in schema["$defs"].items()]
    return "\n\n".join(text for text in found if text)


def table(title, definition):
    if "properties" not in definition:
        return ""
    rows = [
        f"| `{name}` | {type_of(value)} | {html.escape(value.get('description', ''), quote=False)} |"
        for name, value in definition["properties"].items()
    ]
    head = [f"### {title}", "", definition.get("description", ""), "", "| key | type | meaning |", "|---|---|---|"]
    return "\n".join(head + rows)


def type_of(value):
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in value:
        return " or ".join(type_of(one) for one in value["anyOf"])
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    if "enum" in value:
        return ", ".join("null" if one is None else f"`{one}`" for one in value["enum"])
    if value.get("type") == "array":
        return f"array of {type_of(value['items'])}"
    if isinstance(value.get("additionalProperties"), dict):
        return f"object: name to {type_of(value['additionalProperties'])}"
    kinds = value.get("type", "any")
    return kinds if isinstance(kinds, str) else " or ".join(kinds)


GENERATORS = {"help": help_of, "header": header, "schema": schema_tables}
