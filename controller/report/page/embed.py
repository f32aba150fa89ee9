#!/usr/bin/env python3
"""Writes the assets of pages as a C++ source (controller/report/page/assets.h).

Usage: embed.py --root DIR --output FILE --depfile FILE --libraries DIR ASSET...

An asset is a .html, .css or .js file; its name is its path below --root without `assets/`. Two more
come from the folder that scripts/fetch_web_libraries fills: libraries.js, the files of LIBRARIES, and
licences.txt, their licences. Both are empty if the folder is not there."""

import argparse
import base64
import hashlib
import json
import pathlib
import re
import sys

# Each needs those before it.
LIBRARIES = ("d3-array", "d3-color", "d3-dispatch", "d3-ease", "d3-format", "d3-hierarchy",
             "d3-interpolate", "d3-time", "d3-time-format", "d3-scale", "d3-selection", "d3-timer",
             "d3-transition", "d3-flame-graph")
WITHIN = {"internmap": "d3-array"}  # whose file has it
FILES = {"d3-flame-graph": "dist/d3-flamegraph.umd.min.js"}
LINE = 4000  # bytes of an asset in a line of the source


def check(name, text):
    """A script must not end the element that it stands in."""
    if re.search(r"</script|<!--", text, re.IGNORECASE):
        sys.exit(f"embed.py: {name} has </script or <!--, which would end the script element early")


def libraries(folder):
    """Returns libraries.js, licences.txt, and the files that they depend on."""
    lock = folder / "package-lock.json"
    if not lock.is_file():
        return "", "", [lock]
    with open(lock, encoding="utf-8") as file:
        packages = json.load(file)["packages"]
    scripts, holders, inputs = [], {}, [lock]
    for name in (*LIBRARIES, *WITHIN):
        package = folder / "node_modules" / name
        license_file = package / "LICENSE"
        inputs.append(license_file)
        locked = packages[f"node_modules/{name}"]
        text = license_file.read_text(encoding="utf-8").strip()
        holders.setdefault(text, []).append(f"{name} {locked['version']} ({locked['license']})")
        if name not in WITHIN:
            script = package / FILES.get(name, f"dist/{name}.min.js")
            inputs.append(script)
            scripts.append(script.read_text(encoding="utf-8").strip())
    licences = "\n\n".join(f"{', '.join(names)}\n\n{text}" for text, names in holders.items())
    return "\n".join(scripts) + "\n", licences + "\n", inputs


def literals(content):
    """Returns C++ string literals, in which every byte but letters, digits and spaces is escaped."""
    lines = []
    for begin in range(0, len(content), LINE):
        part = "".join(chr(byte) if chr(byte).isascii() and (chr(byte).isalnum() or byte == 32)
                       else f"\\{byte:03o}" for byte in content[begin:begin + LINE])
        lines.append(f'    "{part}"')
    return "\n".join(lines) or '    ""'


def source(assets):
    out = ['// Written by controller/report/page/embed.py.\n#include "controller/report/page/assets.h"\n',
           "#pragma GCC diagnostic ignored \"-Woverlength-strings\"  // a compiler need not take more than 64 KiB\n",
           "namespace causalctl::report::page {\n", "const std::vector<Asset>& all_assets() {",
           "  static const std::vector<Asset> all = {"]
    for name, text in assets.items():
        content = text.encode()
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
        out.append(f'  {{"{name}", "{digest}", std::string_view(\n{literals(content)}, {len(content)})}},')
    out += ["  };", "  return all;", "}\n", "}  // namespace causalctl::report::page\n"]
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--root", "--output", "--depfile", "--libraries"):
        parser.add_argument(option, type=pathlib.Path, required=True)
    parser.add_argument("assets", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    assets = {}
    for path in arguments.assets:
        name = path.resolve().relative_to(arguments.root.resolve()).as_posix().replace("/assets/", "/")
        assets[name] = path.read_text(encoding="utf-8")
    assets["libraries.js"], assets["licences.txt"], inputs = libraries(arguments.libraries)
    for name, text in assets.items():
        if name.endswith(".js"):
            check(name, text)
    arguments.output.write_text(source(assets), encoding="ascii")
    # ninja makes the file again each time if something that it depends on is not there.
    names = " ".join(str(path.resolve()).replace(" ", "\\ ") for path in inputs)
    arguments.depfile.write_text(f"{arguments.output}: {names}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
