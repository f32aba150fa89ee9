"""The page of input sizes, in a headless Chromium: it opens without a complaint, and its plots and its table do
what they are told, by mouse and by keyboard."""

import subprocess

import pytest

import browser
import made_inputs_log

# It needs Chromium, 400 MB that nothing else needs.
pytestmark = pytest.mark.full
ROWS = "[...document.querySelectorAll('#routines tbody tr')]"
NAMES = f"{ROWS}.map((row) => row.cells[5].textContent.replace('/src/a.c:7', ''))"
CHOSEN = f"{ROWS}.filter((row) => row.classList.contains('chosen')).length"


def points(plot="cost-plot"):
    return f"document.querySelectorAll('#{plot} path.point').length"


@pytest.fixture(scope="module")
def opened(options, tmp_path_factory):
    if not browser.path():
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    folder = tmp_path_factory.mktemp("page")
    log = made_inputs_log.write(folder / "inputs.jsonl")
    subprocess.run([options.causalctl, "report", log, "--format", "html", "-o", folder / "page.html"], check=True,
                   timeout=60)
    with browser.Browser(folder / "browser") as chromium:
        yield chromium, folder / "page.html"


@pytest.fixture
def page(opened):
    chromium, file = opened
    chromium.size(1400, 900)
    chromium.load(file)
    chromium.wait(f"{points()} > 0")
    yield chromium
    assert chromium.complaints() == []


def choose(page, element, value):
    page.run(f"(() => {{ const e = document.getElementById('{element}'); e.value = '{value}';"
             " e.dispatchEvent(new Event('change')); })()")


def text(page, element):
    return page.run(f"document.getElementById('{element}').textContent")


def test_the_first_routine_is_plotted(page):
    assert page.run(NAMES)[0] == "sort_rows"
    count = len(list(made_inputs_log.sizes()))
    assert page.run(points()) == count and page.run(points("calls-plot")) == count
    assert text(page, "legend").startswith("sort_rows: n²")
    assert page.run("document.querySelectorAll('#cost-plot path.line').length") == 1


def test_names_are_text(page):
    assert made_inputs_log.HOSTILE in page.run(NAMES)
    assert page.run("document.querySelectorAll('img').length") == 0


def test_routines_lie_over_each_other(page):
    page.click(f"{ROWS}[1]")
    assert page.run(CHOSEN) == 2
    assert page.run("new Set([...document.querySelectorAll('#cost-plot path.line')].map((e) => "
                    "getComputedStyle(e).stroke)).size") == 2
    page.click(f"{ROWS}[0]")
    assert page.run(CHOSEN) == 1


def test_metric_and_axes_are_switched(page):
    page.run(f"{ROWS}.find((row) => row.cells[5].textContent.startsWith('select')).click()")
    assert "select: n [" in text(page, "legend")
    before = page.run("document.querySelector('#cost-plot path.point.s1').getAttribute('d')")
    choose(page, "metric", "rms")
    assert "select: n²" in text(page, "legend")
    choose(page, "axes", "linear")
    assert page.run("document.querySelector('#cost-plot path.point.s1').getAttribute('d')") != before
    choose(page, "cost", "instructions")
    assert "instructions (mean)" in text(page, "cost-plot")
    page.click("document.getElementById('fits')")
    assert page.run("document.querySelectorAll('#cost-plot path.line').length") == 0


def test_by_keyboard(page):
    page.key("/")
    page.type("sel")
    page.wait(f"{ROWS}.length === 1")
    page.run(f"{ROWS}[0].focus()")
    page.key("Enter")
    assert page.run(CHOSEN) == 1
    page.run("document.getElementById('cost-plot').focus()")
    page.key("ArrowRight")
    assert text(page, "details").startswith("sort_rows: trms 10, 45 blocks, 1 calls")
    page.key("ArrowRight")
    page.key("ArrowDown")
    assert text(page, "details").startswith("select: trms 12")


@pytest.mark.parametrize("width", [390, 800, 1400])
def test_nothing_is_wider_than_the_window(page, width):
    page.size(width, 900)
    page.wait(f"{points()} > 0")
    assert page.run("document.documentElement.scrollWidth") <= width


def test_colours_follow_the_theme(page):
    color = "getComputedStyle(document.querySelector('#cost-plot path.point')).fill"
    page.theme("light")
    light = page.run(color)
    page.theme("dark")
    assert page.run(color) != light
    page.theme("light")
