"""What the tests call is installed by their tier: each program that a script or a test calls belongs to a
package of its group (scripts/install-dependencies), or is looked for, so that its absence is a skip with a
reason. Whether that is all of it scripts/fresh shows, in an empty Debian."""

import ast
import functools
import pathlib
import re
import shutil
import subprocess

import pytest

import cases
import tiers

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPENDENCIES = ROOT / "scripts/install-dependencies"
# Which group of packages is there when a script runs. Others are for people who measure.
GROUP_OF = {
    "scripts/quickstart": "build", "scripts/build": "build", "scripts/test": "test", "scripts/check": "test",
    ".ci/run": "test", "scripts/fresh": "full", "scripts/fuzz": "full", "scripts/kill_table": "full",
    "scripts/fault_matrix": "full", "scripts/eintr_table": "full", "scripts/callpath_exports": "full",
    "scripts/targets/fetch_npm": "full", "scripts/targets/build-sqlite": "full",
    "scripts/load/memcached": "test", "scripts/load/redis": "test",
}
PROGRAM = re.compile(r"[a-z][a-z0-9_.+-]*$")

pytestmark = pytest.mark.skipif(not shutil.which("dpkg-query"), reason="this is no Debian: dpkg-query is missing")


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stdout


@functools.cache
def installed():
    """Returns the packages that each installed package needs, and those that every Debian has."""
    needs, base, alternatives = {}, set(), {}
    fields = "${Package}\t${Essential}\t${Priority}\t${Provides}\t${Pre-Depends}, ${Depends}\n"
    for line in output_of("dpkg-query", "-W", "-f", fields).splitlines():
        name, essential, priority, provides, depends = line.split("\t")
        # apt takes the first of several.
        needs[name] = [re.sub(r"[|:(\[].*", "", each).strip() for each in depends.split(",")]
        if essential == "yes" or priority == "required" or name == "apt":
            base.add(name)
        for each in provides.split(","):
            alternatives.setdefault(re.sub(r"\(.*", "", each).strip(), []).append(name)
    return needs, base, alternatives


@functools.cache
def packages_of(group):
    """Returns the installed packages of a group, and what they need."""
    needs, base, alternatives = installed()
    found, todo = set(), [*base, *listed(group)]
    while todo:
        name = todo.pop()
        if name not in needs:
            todo += alternatives.get(name, ())[:1]
        elif name not in found:
            found.add(name)
            todo += needs[name]
    return found


@functools.cache
def owners():
    """Returns the package of each program, and of each file that may be one by another name (update-alternatives)."""
    found = {}
    for file in pathlib.Path("/var/lib/dpkg/info").glob("*.list"):
        package = file.stem.partition(":")[0]
        for path in re.findall(r"^(?:/usr)?(/(?:s?bin|games|lib/[^/\n]+/bin|lib/go[^/\n]*/bin)/[^/\n]+)$",
                               file.read_text(errors="replace"), re.MULTILINE):
            found[path] = package
    return found


def package_of(program):
    """Returns the package that has a program of this machine; "" if none has it."""
    path = shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin")
    names = (path, str(pathlib.Path(path).resolve())) if path else ()
    return next((owners()[name.removeprefix("/usr")] for name in names if name.removeprefix("/usr") in owners()), "")


def shell_texts(tree):
    """Returns the texts that follow the words "sh" and "-c" (or "bash") in arguments, lists and tuples."""
    def text_of(node):
        if isinstance(node, ast.JoinedStr):
            return "".join(text_of(each) or " x " for each in node.values)
        return node.value if isinstance(node, ast.Constant) else None
    for node in ast.walk(tree):
        elements = getattr(node, "args" if isinstance(node, ast.Call) else "elts", None) or []
        words = list(map(text_of, elements)) if isinstance(elements, list) else []
        for shell, option, text in zip(words, words[1:], words[2:]):
            if shell in ("sh", "bash") and option == "-c" and isinstance(text, str):
                yield text


def called_by_python(text):
    """Returns the programs that begin a list or tuple which is an argument, and those that shells call, without
    those that are looked for."""
    tree = ast.parse(text)
    looked_for = {node.args[0].value for node in ast.walk(tree)
                  if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and
                  node.func.attr == "which" and isinstance(node.args[0], ast.Constant)}
    if re.search(r"shutil\.which\([a-z]+\)|map\(shutil\.which", text):  # each of a list
        looked_for |= set(re.findall(r'"([a-z0-9_.+-]+)"', text))
    for needs in re.findall(r"needs=\{(.*?)\}", text):  # which is checked by tier
        looked_for |= set(re.findall(r'"([a-z0-9_.+-]+)":', needs))
    words = {argument.elts[0].value for node in ast.walk(tree) if isinstance(node, ast.Call)
             for argument in node.args
             if isinstance(argument, (ast.List, ast.Tuple)) and argument.elts and
             isinstance(argument.elts[0], ast.Constant)}
    words = words.union(*map(called_by_bash, shell_texts(tree)))
    return {word for word in words - looked_for if isinstance(word, str) and PROGRAM.match(word)}


def called_by_bash(text):
    """Returns the first words of commands, and some words that are none."""
    text = re.sub(r"<<-?'?(\w+)'?.*?\n\1\n", "\n", text, flags=re.DOTALL)  # texts
    text = re.sub(r"'[^']*'|\"[^\"$]*\"|(^|\s)#.*|\\\n", " ", text)
    text = re.sub(r"=\([^()]*\)", "=x", text)
    found = set()
    for command in re.split(r"[\n;|&(){}!]|\b(?:if|while|then|do|else|exec)\b", text):
        words = [word for word in command.split() if not re.match(r"\w+\+?=", word)]
        if words and PROGRAM.match(words[0]):
            found.add(words[0])
    return found - set(output_of("bash", "-c", "compgen -b").split())


def called_by(file):
    text = file.read_text()
    is_python = file.suffix == ".py" or text.startswith("#!/usr/bin/env python3")
    return called_by_python(text) if is_python else called_by_bash(text)


@functools.cache
def listed(group):
    return set(output_of(DEPENDENCIES, "--list", group).split())


def missing_from(group, programs):
    """Returns programs with their packages. One that another package has than Debian's of its name (npm) is there."""
    return {program: package_of(program) for program in programs - listed(group)
            if package_of(program) and package_of(program) not in packages_of(group)}


def all_cases():
    return {case.name: case for case in cases.CASES}.values()


def needed(in_quick_tier):
    return {package: case.name for case in all_cases() for package in case.needs.values()
            if (tiers.left_to_full(case.name) is None) == in_quick_tier}


@pytest.mark.parametrize("group, quick", [("test", True), ("full", False)])
def test_group_has_what_its_cases_need(group, quick):
    _, base, _ = installed()
    lacking = {package: case for package, case in needed(quick).items() if package not in listed(group) | base}
    assert not lacking, f"scripts/install-dependencies {group} does not install them"


def test_groups_have_what_scripts_call():
    lacking = {(script, group): programs for script, group in GROUP_OF.items()
               if (programs := missing_from(group, called_by(ROOT / script)))}
    assert not lacking, "scripts/install-dependencies GROUP does not install them"


def test_tiers_have_what_tests_call():
    lacking = {}
    for file in sorted((ROOT / "tests").rglob("*.py")):
        group = "full" if "pytestmark = pytest.mark.full" in file.read_text() else "test"
        if programs := missing_from(group, called_by(file)):
            lacking[file.name, group] = programs
    assert not lacking, "scripts/install-dependencies GROUP does not install them"


def test_finds_what_is_called():
    """A program that no group has is found, in Python and in bash."""
    assert called_by_python('run(["xz", "-k"]); f(("bc",)); g = ["dc"]') == {"xz", "bc"}
    assert called_by_python('shutil.which("xz"); run(["xz", "-k"])') == set()
    assert called_by_python('f("sh", "-c", "read x; bc; dc -f"); g(["bash", "-c", f"{x} | xz"])') >= {"bc", "dc", "xz"}
    assert called_by_bash('if x=1 bc "a b"; then\n  out=$(dc | xz) # gzip\nfi\necho \'perl\'\n') >= {"bc", "dc", "xz"}
    assert "gzip" not in called_by_bash("bc # gzip\n") | called_by_bash("cat <<'END'\ngzip\nEND\n")
    assert missing_from("build", {"strace", "bash", "no-such-program"}) == (
        {"strace": "strace"} if shutil.which("strace") else {})
