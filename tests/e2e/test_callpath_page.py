"""The page of a call path profile, in a headless Chromium: it opens without a complaint, and searches,
zooms, switches and sorts what it shows."""

import json
import subprocess

import pytest

import browser

# It needs Chromium, 400 MB that nothing else needs. What needs no browser is in tests/unit/report/page_test.cc.
pytestmark = pytest.mark.full
HOSTILE = "</script><script>alert(1)</script>"
IMAGE = "<img src=x onerror=alert(1)>"
FRAMES = "[...document.querySelectorAll('#flame g.frame')]"
NAMES = f"{FRAMES}.map((frame) => frame.getAttribute('name'))"
ROWS = "[...document.querySelectorAll('#functions tbody tr')]"
ROW_NAMES = f"{ROWS}.map((row) => row.cells[2].firstChild.textContent)"


# Of calls that the samples have seen, at least and at most, by node from main to the worst name: main is called
# once, and calls reply five times, which calls copy thirty times.
CALLS = [1, 1, 100, 1, 3, 30, 1, 20, 20, 1, 5, 70, 1, 30, 30, 1, 40, 40]


def log_of(folder, samples=(10, 20, 30, 40), with_calls=False, with_kernel=False):
    """A server whose worker calls functions with names that a page must not obey, and a wait. `samples`
    are those of parse, copy called by parse, copy called by reply, and the function with the worst name."""
    cells = [number for node, count in zip((2, 1, 2, 1), samples) for number in (node, count, count * 1000000)]
    lines = [
        {"type": "run", "kind": "callpath", "version": 1, "run": "5f", "host": "db1", "pid": 4711,
         "executable": "/srv/server", "config": {}, "period_ns": 1000000},
        {"type": "modules", "modules": [{"path": "/srv/server", "build_id": "9a"},
                                        {"path": f"/srv/{IMAGE}.so", "build_id": "9b"}]},
        {"type": "locations",
         "locations": [[0, 16, 1], [0, 32, 1], [0, 48, 1], [1, 64, 0], [0, 80, 0], [0, 96, 1]]},
        {"type": "strings", "strings": ["main", "/src/main.c", "parse", "reply", HOSTILE, "copy", "wait_for"]},
        {"type": "frames", "frames": [[0, 1, 2, 10], [1, 3, 2, 20], [2, 4, 2, 30], [3, 5, 2, 40],
                                      [4, 6, 2, 50], [5, 7, 2, 60]]},
        # main: parse: copy; main: reply: copy, HOSTILE; main: wait_for
        {"type": "nodes", "nodes": [1, 0, 1, 1, 1, 4, 3, 2, 1, 4, 2, 3, 6, 5]},
        {"type": "groups", "groups": ["all"]},
        {"type": "epochs", "epochs": [{"start_ns": 0, "reason": "start"}]},
        {"type": "cells", "epoch": 0, "group": 0, "metrics": ["samples", "cpu_ns"],
         "cells": cells},
        {"type": "cells", "epoch": 0, "group": 0, "metrics": ["blocked_ns"], "cells": [7, 900000000]},
        {"type": "end", "reason": "duration", "wall_ns": 1000000000, "period_ns": 1000000},
    ]
    if with_calls:
        bounds = {"type": "cells", "epoch": 0, "group": 0, "metrics": ["new_min", "new_max"], "cells": CALLS}
        lines.insert(-1, bounds)
    if with_kernel:  # wait_for and the first copy have called it
        named = {line["type"]: line for line in lines}
        named["modules"]["modules"].append({"path": "[kernel]", "build_id": ""})
        named["locations"]["locations"] += [[2, 0, 0], [2, 0, 0]]
        named["strings"]["strings"] += ["do_wait", "copy_page"]
        named["frames"]["frames"] += [[6, 8, 0, 0], [7, 9, 0, 0]]
        named["nodes"]["nodes"] += [1, 6, 6, 7]
        lines.insert(-1, {"type": "cells", "epoch": 0, "group": 0, "metrics": ["blocked_ns"], "cells": [8, 100000000]})
        lines.insert(-1, {"type": "cells", "epoch": 0, "group": 0, "metrics": ["samples", "cpu_ns"],
                          "cells": [9, 5, 5000000]})
    first = {"modules": 0, "locations": 0, "strings": 1, "nodes": 1, "groups": 0, "epochs": 0}
    for number, line in enumerate(lines):
        line.update(run="5f", n=number)
        if line["type"] in first:
            line["first"] = first[line["type"]]
    log = folder / "callpath.jsonl"
    log.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return log


def page_of(options, log, page, *words):
    subprocess.run([options.causalctl, "report", log, "--format", "html", "-o", page, *words], check=True,
                   timeout=60)
    return page


def parts_of(file):
    """Returns what is before the page's data, the data, and what is after them."""
    html = file.read_text()
    begin = html.index('id="data">') + len('id="data">')
    end = html.index("</script>", begin)
    return html[:begin], html[begin:end], html[end:]


def data_of(file):
    return json.loads(parts_of(file)[1])


def with_data(file, data):
    """Returns the page with other data."""
    before, _, after = parts_of(file)
    return before + json.dumps(data).replace("<", "\\u003c") + after


def settle(page):
    """Waits until the frames are drawn."""
    page.wait(f"{FRAMES}.length > 0")


@pytest.fixture(scope="module")
def opened(options, tmp_path_factory):
    if not browser.path():
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    folder = tmp_path_factory.mktemp("page")
    page = page_of(options, log_of(folder), folder / "page.html")
    with browser.Browser(folder / "browser") as chromium:
        chromium.call("Emulation.setEmulatedMedia",
                      features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
        yield chromium, page


@pytest.fixture
def page(opened):
    chromium, file = opened
    chromium.size(1400, 900)
    chromium.load(file)
    settle(chromium)
    yield chromium
    assert chromium.complaints() == []


def text(page, element):
    return page.run(f"document.getElementById('{element}').textContent")


def choose(page, element, value):
    page.run(f"(() => {{ const e = document.getElementById('{element}'); e.value = '{value}';"
             " e.dispatchEvent(new Event('change')); })()")


def frame(name, number=0):
    return f"{FRAMES}.filter((frame) => frame.getAttribute('name') === {json.dumps(name)})[{number}]"


def width(page, name, number=0):
    """Returns the share of the graph's width that a frame has."""
    settle(page)
    return page.run(f"{frame(name, number)}.querySelector('rect').getAttribute('width') / "
                    "document.querySelector('#flame svg').getAttribute('width')")


def search(page, words, result):
    page.run("document.getElementById('search').select()")
    page.type(words)
    page.wait(f"document.getElementById('matched').textContent.includes({json.dumps(result)})")


def test_shows_the_profile(page):
    assert page.run("document.title") == "Call paths of server (process 4711)"
    assert "100 samples in 1.0 s, one each 1 ms" in page.run("document.querySelector('dl').textContent")
    assert sorted(page.run(NAMES)) == sorted(["all", "main", "parse", "copy", "reply", "copy", HOSTILE])
    assert width(page, "reply") == pytest.approx(0.7, abs=0.01)
    assert page.run(ROW_NAMES) == ["copy", HOSTILE, "parse", "main", "reply"]
    copy = page.run(f"{ROWS}[0].innerText")
    for words in ("50.0 % [40.4, 59.6]", "50 ms", "server"):
        assert words in copy, copy


def test_names_are_inert(page):
    assert page.run("document.querySelectorAll('#functions img, #flame img, body > img').length") == 0
    assert HOSTILE in page.run(ROW_NAMES) and HOSTILE in page.run(NAMES)
    page.hover(frame(HOSTILE))
    page.wait("!document.getElementById('tip').hidden")
    assert HOSTILE in text(page, "tip") and page.run("document.querySelector('#tip img, #tip script') === null")
    # A script that is not the page's own does not run, however it comes in.
    page.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran = 1\">')")
    page.run("document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = 1'}))")
    page.run("new Promise((done) => setTimeout(done, 100))")
    assert page.run("window.ran === undefined")
    complaints = [str(each) for each in page.complaints()]
    assert complaints and all("Content Security Policy" in each for each in complaints), complaints


def test_points_at_a_frame(page):
    page.hover(frame("copy", 1))
    page.wait("!document.getElementById('tip').hidden")
    for words in ("copy", "/srv/server", "main.c:50", "CPU time", "20 ms (20.0 %)", "Time blocked"):
        assert words in text(page, "tip"), text(page, "tip")
    assert text(page, "details") == "copy: 20 ms (20.0 %), own 20 ms (20.0 %)"


def test_searches(page):
    search(page, "Pars", "Nothing matches")
    search(page, "PARSE".lower(), "“parse” is on paths with 30 ms (30.0 %)")
    assert page.run(ROW_NAMES) == ["parse"]
    page.run("document.getElementById('regexp').click()")
    search(page, "^(main|copy)$", "100 ms (100.0 %)")  # what is below main counts once
    search(page, "^(reply|copy", "no regular expression")
    assert page.run("document.getElementById('search').getAttribute('aria-invalid')") == "true"
    search(page, "c.p.$", "50 ms (50.0 %)")
    page.key("Escape")
    page.wait("document.getElementById('matched').textContent === ''")
    assert page.run(f"{ROWS}.length") >= 5


def test_table_is_linked(page):
    page.click(f"{ROWS}.find((row) => row.textContent.startsWith('4') && row.textContent.includes('alert'))")
    page.wait("document.getElementById('matched').textContent.includes('40 ms (40.0 %)')")
    assert page.run("document.querySelectorAll('#functions tr.chosen').length") == 1
    marked = page.run(f"{FRAMES}.filter((f) => f.querySelector('rect').getAttribute('fill') === "
                      "causal.colors.marked).map((f) => f.getAttribute('name'))")
    assert marked == [HOSTILE]
    page.click("document.querySelector('#functions tr.chosen')")
    page.wait("document.getElementById('matched').textContent === ''")


def test_zooms_and_resets(page):
    page.click(frame("reply"))
    page.wait(f"!{NAMES}.includes('parse')")
    assert width(page, "reply") == pytest.approx(1, abs=0.01)
    assert width(page, "main") == pytest.approx(1, abs=0.01)
    page.run("document.getElementById('reset').click()")
    page.wait(f"{NAMES}.includes('parse')")
    assert width(page, "reply") == pytest.approx(0.7, abs=0.01)


def test_keys(page):
    page.run("document.getElementById('flame').focus()")
    current = "document.querySelector('#flame .current')?.getAttribute('name')"
    for key, name in (("ArrowDown", "all"), ("ArrowDown", "main"), ("ArrowDown", "reply"),
                      ("ArrowRight", "parse"), ("ArrowUp", "main"), ("ArrowDown", "reply")):
        page.key(key)
        assert page.run(current) == name
    page.key("Enter")
    page.wait(f"!{NAMES}.includes('parse')")
    page.key("Home")
    page.wait(f"{NAMES}.includes('parse')")
    page.key("/")
    assert page.run("document.activeElement.id") == "search"


def test_switches_what_is_shown(page):
    choose(page, "metric", "2")
    page.wait(f"{NAMES}.includes('wait_for')")
    assert page.run(NAMES) == ["all", "main", "wait_for"]
    assert "900 ms" in page.run(f"{ROWS}[0].innerText") and "[" not in page.run(f"{ROWS}[0].innerText")
    choose(page, "metric", "0")
    choose(page, "roots", "callees")
    page.wait(f"{NAMES}.filter((name) => name === 'main').length > 1")
    assert width(page, "copy") == pytest.approx(0.5, abs=0.01)
    choose(page, "detail", "line")
    page.wait(f"{NAMES}.includes('copy (main.c:50)')")
    choose(page, "roots", "callers")
    choose(page, "direction", "up")
    page.wait("document.querySelector('#flame g.frame').getBoundingClientRect().y > "
              "document.querySelector('#flame svg').getBoundingClientRect().y + 20")
    choose(page, "colors", "function")
    assert page.run("document.getElementById('legend').children.length") == 0


def choices(page, element):
    return page.run(f"[...document.getElementById('{element}').options].map((option) => option.textContent)")


@pytest.fixture
def page_of_calls(options, opened, tmp_path):
    """The page of a log that tells of calls, which shows them, and its JSON report."""
    chromium, _ = opened
    log = log_of(tmp_path, with_calls=True)
    chromium.size(1400, 900)
    chromium.load(page_of(options, log, tmp_path / "page.html"))
    report = json.loads(subprocess.run([options.causalctl, "report", log, "--format", "json"], check=True,
                                       capture_output=True, text=True, timeout=60).stdout)
    names = [column["name"] for column in report["columns"]]
    choose(chromium, "metric", str(names.index("new_min")))
    settle(chromium)
    yield chromium, report
    assert chromium.complaints() == []


def test_log_without_calls_has_no_choice_of_them(page):
    assert choices(page, "metric") == ["CPU time", "Samples", "Time blocked"]


def test_shows_calls(page_of_calls):
    page, report = page_of_calls
    assert choices(page, "metric") == ["CPU time", "Samples", "Time blocked", "Calls seen, at least"]
    # A frame is as wide as its calls and all below it: 75 of 99 for reply, of which 5 are its own.
    assert width(page, "reply") == pytest.approx(75 / 99, abs=0.01)
    assert width(page, "copy", 0) + width(page, "copy", 1) == pytest.approx(50 / 99, abs=0.01)
    names = [column["name"] for column in report["columns"]]
    of = {function["name"]: [function["own"][names.index(name)] for name in ("new_min", "new_max")]
          for function in report["functions"]}
    bounds = page.run(f"{ROWS}.map((row) => [row.cells[2].firstChild.textContent, row.cells[0].textContent,"
                      " row.cells[1].textContent])")
    assert {name: [int(low), int(high)] for name, low, high in bounds} == {
        name: calls for name, calls in of.items() if calls[1] > 0}
    assert text(page, "notes").startswith("The bounds are of calls that samples have seen")
    page.hover(f"{FRAMES}.filter((frame) => frame.getAttribute('name') === 'copy').sort((a, b) =>"
               " a.getBoundingClientRect().width - b.getBoundingClientRect().width)[0]")
    page.wait("!document.getElementById('tip').hidden")
    assert "Calls seen, at most2020" in text(page, "tip"), text(page, "tip")
    choose(page, "roots", "callees")
    settle(page)
    assert width(page, "copy") == pytest.approx(50 / 99, abs=0.01)
    assert width(page, "parse") == pytest.approx(3 / 99, abs=0.01)


def test_calls_are_searched_and_zoomed(page_of_calls):
    page, _ = page_of_calls
    search(page, "parse", "“parse” is on paths with 23 (23.2 %) of Calls seen, at least")
    assert page.run(ROW_NAMES) == ["parse"]
    page.key("Escape")
    page.wait("document.getElementById('matched').textContent === ''")
    page.click(frame("reply"))
    page.wait(f"!{NAMES}.includes('parse')")
    page.run("document.getElementById('reset').click()")
    page.wait(f"{NAMES}.includes('parse')")
    choose(page, "metric", "0")
    settle(page)
    assert page.run(ROW_NAMES)[0] == "copy" and text(page, "notes") == text(page, "meaning") == ""


def test_zoom_ends_where_it_shows_nothing(page):
    page.click(frame("reply"))
    page.wait(f"!{NAMES}.includes('parse')")
    choose(page, "metric", "2")
    page.wait(f"{NAMES}.includes('wait_for')")


def test_sorts_the_table(page):
    heading = "document.querySelectorAll('#functions thead button')"
    page.click(f"{heading}[2]")
    names = page.run(ROW_NAMES)
    assert names == sorted(names) and len(names) >= 5
    page.click(f"{heading}[2]")
    assert page.run(ROW_NAMES) == names[::-1]
    page.click(f"{heading}[1]")
    assert page.run(ROW_NAMES)[0] == "main"
    assert page.run("document.querySelector('th[aria-sort=descending]').textContent") == "total"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1400, 900), (700, 900), (380, 700)])
def test_fits_and_is_legible(page, size, theme):
    page.theme(theme)
    page.size(*size)
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    # The contrast of WCAG 2.2, "Contrast (Minimum)".
    contrast = page.run("""(() => {
      const context = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
      const light = (color) => {
        context.fillStyle = color;
        context.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((each) => each / 255)
          .map((each) => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      const texts = [...document.querySelectorAll('h1, dt, dd, #drawn, #functions td, #functions small')].map(
        (each) => ratio(light(getComputedStyle(each).color), light(getComputedStyle(document.body).backgroundColor)));
      const frames = [...document.querySelectorAll('#flame g.frame:has(div)')].map((each) => ratio(
        light(getComputedStyle(each.querySelector('div')).color), light(each.querySelector('rect').getAttribute('fill'))));
      return Math.min(...texts, ...frames);
    })()""")
    assert contrast >= 4.5


def fill(page, name, number=0):
    return page.run(f"{frame(name, number)}.querySelector('rect').getAttribute('fill')")


def test_colours_by_what_changed(options, opened, tmp_path):
    chromium, _ = opened
    (tmp_path / "old").mkdir()
    old = log_of(tmp_path / "old", (1000, 2000, 3000, 4000))
    new = log_of(tmp_path, (1000, 2000, 9000, 4000))
    chromium.load(page_of(options, new, tmp_path / "page.html", "--diff", old))
    settle(chromium)
    assert chromium.run("document.getElementById('colors').value") == "difference"
    more, less = "#f08a70", "#7fb0f0"
    assert more in fill(chromium, "reply") and less in fill(chromium, "parse")
    # copy has changed as a whole; its path below parse has less of the time than before.
    fills = [fill(chromium, "copy", number) for number in (0, 1)]
    assert more in fills[0] and less in fills[1], fills
    assert "color-mix" not in fill(chromium, "main")  # it has everything in both
    assert text(chromium, "legend") == "more than beforeless than beforefunctions without a certain change"
    choose(chromium, "metric", "1")
    settle(chromium)
    assert width(chromium, "reply") == pytest.approx(0.7, abs=0.01)
    choose(chromium, "roots", "callees")
    settle(chromium)
    search(chromium, "copy", "copy")
    assert chromium.complaints() == []


def test_colours_by_slope(opened, tmp_path):
    """What render_gains_html() adds to the data: samples, those in units that are certain, their slopes."""
    chromium, file = opened
    data = data_of(file)
    own = data["nodes"]["own"][[column["name"] for column in data["columns"]].index("samples")]
    place = data["nodes"]["place"]
    names = [data["functions"]["name"][data["places"]["function"][each]] for each in place]
    slope = {"copy": 0.8, "parse": 0.0}
    known = [count if node > 0 and names[node] in slope else 0 for node, count in enumerate(own)]
    data["causal"] = {"point": "item_done", "samples": own, "certain": known,
                      "slopes": [slope.get(name, 0) * count for name, count in zip(names, known)]}
    colored = tmp_path / "slope.html"
    colored.write_text(with_data(file, data))
    chromium.load(colored)
    settle(chromium)
    assert chromium.run("document.getElementById('colors').value") == "slope"
    gain = "#f2a33c"
    assert f"{gain} 100%" in fill(chromium, "copy")
    # A third of parse is its own, which gains nothing; of main 60 % is certain, 5 of 6 in copy.
    assert f"{gain} 67%" in fill(chromium, "parse") and f"{gain} 83%" in fill(chromium, "main")
    assert fill(chromium, HOSTILE).startswith("#")  # grey
    assert f"{gain} 100%" not in fill(chromium, "reply") and fill(chromium, "reply").startswith("#")
    assert chromium.complaints() == []


def test_big_profile_opens_and_stays_usable(opened, tmp_path):
    """Nodes of the tree: 50,000. The limits are ten times what was measured."""
    chromium, file = opened
    data = data_of(file)
    nodes, count = data["nodes"], 50_000
    data["places"] = {"function": list(range(5)) * 2000, "file": [0] * 10_000, "line": list(range(1, 10_001))}
    nodes["up"] = [0] + [1 if node % 30 else node for node in range(1, count)]
    nodes["place"] = [node * 7919 % 10_000 for node in range(count)]
    nodes["own"] = [[node % 13 for node in range(count)] for _ in data["columns"]]
    for column, own in zip(data["columns"], nodes["own"]):
        column["total"] = sum(own)
    big = tmp_path / "big.html"
    big.write_text(with_data(file, data))
    assert chromium.load(big) < 20
    chromium.wait(f"{FRAMES}.length > 0")
    choose(chromium, "detail", "line")
    chromium.wait(f"{FRAMES}.length > 0")
    assert "frames are drawn. Frames narrower than" in text(chromium, "drawn")
    assert chromium.complaints() == []


@pytest.mark.parametrize("words", [(), ("--kernel",)])
def test_the_kernel_is_folded_by_a_key(options, opened, tmp_path, words):
    chromium, _ = opened
    chromium.load(page_of(options, log_of(tmp_path, with_kernel=True), tmp_path / "kernel.html", *words))
    settle(chromium)
    row = f"{ROWS}.find((row) => row.cells[2].firstChild.textContent === 'copy').cells[0].textContent"
    for shown in (bool(words), not words, bool(words)):
        assert ("[k] copy_page" in chromium.run(NAMES)) == shown
        assert ("[k] copy_page" in chromium.run(ROW_NAMES)) == shown
        assert chromium.run("document.getElementById('kernel').checked") == shown
        # Of 105 samples, 5 of which are copy_page's.
        assert chromium.run(row).startswith("47.6 %" if shown else "52.4 %")
        chromium.key("k")
    assert width(chromium, "main") == pytest.approx(1)
    assert chromium.complaints() == []
