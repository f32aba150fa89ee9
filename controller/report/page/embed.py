#!/usr/bin/env python3
"""Writes the assets of pages as a C++ source (controller/report/page/assets.h).

Usage: embed.py --root DIR --output FILE ASSET...

An asset is a .html, .css or .js file; its name is its path below --root without `assets/`."""

import argparse
import base64
import hashlib
import pathlib
import re
import sys

LINE = 4000  # bytes of an asset in a line of the source


def check(name, text):
    """A script must not end the element that it stands in."""
    if re.search(r"</script|<!--", text, re.IGNORECASE):
        sys.exit(f"embed.py: {name} has </script or <!--, which would end the script element early")


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
    for option in ("--root", "--output"):
        parser.add_argument(option, type=pathlib.Path, required=True)
    parser.add_argument("assets", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    assets = {}
    for path in arguments.assets:
        name = path.resolve().relative_to(arguments.root.resolve()).as_posix().replace("/assets/", "/")
        assets[name] = path.read_text(encoding="utf-8")
    for name, text in assets.items():
        if name.endswith(".js"):
            check(name, text)
    arguments.output.write_text(source(assets), encoding="ascii")


if __name__ == "__main__":
    main()
