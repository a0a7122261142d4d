"""The page in Chromium: Python's answers, no request, typing, pointing, keys, links, exports, both themes."""

import json
import random
import re
import time
from html import escape
from pathlib import Path
from urllib.parse import urlencode

import pytest
from chromium import find_chromium
from explore.browser import Browser
from explore.questions import ACCESS, asked, expressions, shown
from shares import ALL

from cutepy.draw import drawing_of
from cutepy.explore.pack import Explorer, links_of

CASES = 500 if ALL else 125
MEGABYTES = 10


def test_the_file_is_small_and_asks_for_nothing(opened: Browser, page_file: Path) -> None:
    assert page_file.stat().st_size <= MEGABYTES * 1_000_000
    kinds = {address.partition(":")[0] for address in opened.requests}
    assert kinds <= {"file", "blob", "data", "about"}
    assert [address for address in opened.requests if address.startswith("file")] == [page_file.resolve().as_uri()]
    assert opened.complaints() == []


def test_over_http_the_page_is_all_that_is_asked_for(with_gpu: Browser, asked_for: list[str], page_file: Path) -> None:
    assert {address.partition(":")[0] for address in with_gpu.requests} <= {"http", "blob", "data", "about"}
    assert asked_for == [f"/{page_file.name}"]


UNKNOWN = re.compile(r"\b[A-Zn]\b")


def test_random_expressions_are_answered_in_the_page_as_in_python(opened: Browser) -> None:
    texts = list(expressions("page", CASES))
    questions = [{"ask": "look", "text": text} for text in texts]
    script = "Promise.all({}.map((q) => cutepy(q))).then((all) => JSON.stringify(all))"
    found = json.loads(str(opened.evaluate(script.format(json.dumps(questions)))))
    drawn = 0
    for text, answer in zip(texts, found, strict=True):
        assert answer.get("value", answer.get("error")) == shown(text), text
        told = asked("look", text=text)
        if UNKNOWN.search(text):  # the page has no SymPy: it offers no text with an unknown size
            told.pop("fixes", None), answer.pop("fixes", None)
        assert answer == told, text
        if "svg" in answer:
            assert answer["svg"] == drawing_of(text, dict(answer["options"])).svg()
            drawn += 1
    assert drawn > CASES // 2


def test_the_first_picture_stands_before_any_script(page_file: Path) -> None:
    page = page_file.read_text()
    assert page.index("<svg xmlns") < page.index("<script") and "zipped_divide((8,8):(8,1), (4,4))" in page


@pytest.mark.parametrize(
    "link",
    [
        {"e": "composition((8,8):(8,1), (4,4):(1,8))", "view": "steps"},
        {"e": "(4,8):(8,1)", "view": "banks", "banks": "16"},
        {"e": "(4,8):(1,4)", "puzzle": "2"},
        {"e": "A = (6,2):(1,7)\ncomposition(A, (3,2):(2,3))"},
    ],
    ids=["steps", "banks", "puzzle", "refused"],
)
def test_a_link_of_a_site_is_answered_before_python_runs(link: dict[str, str], tmp_path: Path) -> None:
    """The page holds the answers to its own first picture and to the links; no Python is in it that could start."""
    (tmp_path / "index.html").write_text(f'<a class="cutepy-try" data-explore="{escape(urlencode(link))}">try</a>')
    page = tmp_path / "explore.html"
    page.write_text(Explorer(links=links_of(tmp_path)).page({}))
    command = find_chromium()
    if command is None:
        pytest.skip("NOT TESTED: no Chromium to open the explorer's page in")
    tab = Browser(command)
    try:
        tab.open(f"{page.as_uri()}#{urlencode(link)}")
        tab.wait("performance.getEntriesByName('pictured').length")
        wanted = asked(
            "look", text=link["e"], view=link.get("view", ""), options={"banks": "16"} if "banks" in link else {}
        )
        assert (
            tab.text("#result") == wanted["value"] if "value" in wanted else tab.text("#complaint") in wanted["error"]
        )
        if "svg" in wanted:
            drawn = tab.evaluate("document.getElementById('figure').shadowRoot.querySelector('svg title').textContent")
            assert f"<title>{escape(str(drawn), quote=False)}</title>" in wanted["svg"]
        assert ("puzzle" in link) == (tab.text("#verdict") != "")
        tab.open(page)
        tab.wait("performance.getEntriesByName('pictured').length")
        assert tab.text("#result") == "((4,4),(2,2)):((8,1),(32,4))"
        assert not tab.evaluate("performance.getEntriesByName('python-ready').length")
    finally:
        tab.close()


def test_typing_changes_the_picture_and_the_address(browser: Browser) -> None:
    browser.evaluate("(() => { const box = document.getElementById('expression'); box.focus(); box.select(); })()")
    browser.type("coalesce((2,4):(1,2))")
    browser.wait("document.getElementById('result').textContent === '8:1'")
    browser.settled()
    assert browser.text("#facts").startswith("size 8")
    browser.wait("location.hash.includes('coalesce')")
    assert browser.evaluate("document.getElementById('figure').shadowRoot.querySelector('svg title').textContent")


def test_an_error_has_its_caret_and_the_old_picture_stays(browser: Browser) -> None:
    browser.evaluate("(() => { const box = document.getElementById('expression'); box.focus(); box.select(); })()")
    browser.type("(8,8)x(4")
    browser.wait("document.getElementById('complaint').textContent.includes('follows a complete layout')")
    left = "document.getElementById('caret').getBoundingClientRect().left"
    box = "document.getElementById('expression').getBoundingClientRect().left"
    pad, advance = 16 + 1.5, 21 * 0.602
    assert abs(float(str(browser.evaluate(f"{left} - {box}"))) - (pad + 5 * advance)) < 4
    assert browser.evaluate("document.getElementById('expression').getAttribute('aria-invalid')") == "true"
    assert re.fullmatch(r"Below: \(8,8\)(:\(8,1\))?, the last text that could be read.", browser.text("#last"))
    assert browser.evaluate("getComputedStyle(document.getElementById('answer')).display") == "none"
    browser.press("Escape")
    browser.evaluate("document.getElementById('expression').select()")
    browser.type("(8,8)")
    browser.wait("!document.getElementById('complaint').textContent")
    assert browser.evaluate("document.getElementById('caret').hidden")


def test_a_refusal_is_a_picture_with_calls_that_work(browser: Browser) -> None:
    browser.go("composition((6,2):(1,7), (3,2):(2,3))")
    drawn = "document.querySelector('#refusal div').shadowRoot"
    assert browser.evaluate(f"{drawn}.querySelectorAll('path.m').length") == 2
    assert "a layout would have 7 there" in str(browser.evaluate(f"{drawn}.textContent"))
    fixes = browser.evaluate("[...document.querySelectorAll('#fixes button')].map((button) => button.textContent)")
    assert isinstance(fixes, list) and len(fixes) == 3
    browser.evaluate("document.querySelector('#fixes button').click()")
    browser.wait("!document.getElementById('complaint').textContent")
    browser.settled()
    assert browser.text("#result") == shown(fixes[0])
    assert browser.evaluate("document.querySelectorAll('#fixes button, #refusal div').length") == 0


def test_a_size_known_later_is_refused_where_it_stands(browser: Browser) -> None:
    """SymPy is not in the page."""
    browser.evaluate("(() => { const box = document.getElementById('expression'); box.focus(); box.select(); })()")
    browser.type("(8,M)")
    browser.wait("document.getElementById('complaint').textContent.includes('M is a size known later')")
    left = "document.getElementById('caret').getBoundingClientRect().left"
    box = "document.getElementById('expression').getBoundingClientRect().left"
    assert abs(float(str(browser.evaluate(f"{left} - {box}"))) - (16 + 1.5 + 3 * 21 * 0.602)) < 4


def test_named_lines_stand_side_by_side(browser: Browser) -> None:
    browser.evaluate("(() => { const box = document.getElementById('expression'); box.focus(); box.select(); })()")
    browser.type("A = (4,8):(8,1)")
    browser.press("Enter")
    browser.type("B = (4,8):(1,4)")
    browser.wait("document.querySelectorAll('#lines dt').length === 2")
    browser.settled()
    assert browser.evaluate("document.getElementById('expression').value") == "A = (4,8):(8,1)\nB = (4,8):(1,4)"
    assert browser.text("#lines") == "A(4,8):(8,1)B(4,8):(1,4)" and browser.text("#result") == "(4,8):(1,4)"
    browser.evaluate("document.getElementById('view-compare').click()")
    browser.wait("document.getElementById('figure').shadowRoot.textContent.includes('B differs from A at 30 of 32')")
    browser.settled()
    browser.point_at(*browser.cell(9, 0))
    browser.settled()
    assert browser.text("#say") == "(0,1) → index 4 → 0·1 + 1·4 = 4"


def test_a_number_at_the_cursor_has_a_slider(browser: Browser) -> None:
    browser.go("A = (4,8):(8,1)\ncoalesce(A)")
    box = "document.getElementById('expression')"
    browser.evaluate(f"{box}.focus(), {box}.setSelectionRange(7, 7)")
    browser.wait("!document.getElementById('number').hidden")
    assert browser.evaluate("document.getElementById('amount').value") == "8"
    move = "const it = document.getElementById('amount'); it.focus(); it.value = NUMBER; it.dispatchEvent"
    for number in (16, 5):
        browser.evaluate(
            f"(() => {{ {move.replace('NUMBER', str(number))}(new Event('input', {{bubbles: true}})); }})()"
        )
        browser.settled()
        assert browser.evaluate(f"{box}.value") == f"A = (4,{number}):(8,1)\ncoalesce(A)"
    assert browser.text("#result") == "(4,5):(8,1)"
    browser.evaluate(f"{box}.focus(), {box}.setSelectionRange(0, 0)")
    browser.wait("document.getElementById('number').hidden")


def test_fifty_actions_are_undone(browser: Browser) -> None:
    rng = random.Random("undo")
    shown = "JSON.stringify([document.getElementById('expression').value, location.hash])"
    states = [browser.evaluate(shown)]
    for number in range(50):
        text = f"A = ({rng.randint(1, 6)},{rng.randint(1, 6)}):({number + 1},{rng.randint(0, 9)})\ncoalesce(A)"
        views = ["", "grid", "memory", "tree", "compare"]
        script = f"""(() => {{ const box = document.getElementById('expression'); box.value = {json.dumps(text)};
            box.dispatchEvent(new Event('input', {{bubbles: true}}));
            document.getElementById('view-{rng.choice(views)}')?.click(); }})()"""
        browser.evaluate(script)
        browser.wait(f"{shown} !== {json.dumps(states[-1])} && location.hash.includes('%3A%28{number + 1}%2C')")
        states.append(browser.evaluate(shown))
    assert len({*states}) == 51  # type: ignore[misc]
    browser.evaluate("history.back()")  # Back undoes as well, as far as the browser keeps steps
    browser.wait(f"{shown} === {json.dumps(states[-2])}")
    for state in reversed(states[:-2]):
        browser.evaluate("document.getElementById('undo').click()")
        browser.wait(f"{shown} === {json.dumps(state)}")
    browser.wait("document.getElementById('result').textContent === '(8,8):(8,1)'")


def test_a_puzzle_is_solved_and_the_next_one_follows(browser: Browser) -> None:
    browser.go("(4,8):(1,4)", puzzle="2")
    browser.wait("document.getElementById('verdict').className === 'no'")
    assert browser.text("#of-puzzle") == "Puzzle 2 of 20: Row after row"
    assert browser.text("#verdict") == "Not yet: at (1,0) it gives 1, and 8 is asked for"
    browser.evaluate("(() => { const box = document.getElementById('expression'); box.focus(); box.select(); })()")
    browser.type("(4,8):(8,1)")
    browser.wait("document.getElementById('verdict').className === 'yes'")
    browser.evaluate("document.getElementById('next').click()")
    browser.wait("document.getElementById('of-puzzle').textContent === 'Puzzle 3 of 20: Padded columns'")
    browser.go("(8,8):(8,1)")
    assert browser.evaluate("document.getElementById('puzzle').hidden")


def test_completion_by_keyboard(browser: Browser) -> None:
    browser.evaluate("(() => { const box = document.getElementById('expression'); box.focus(); box.select(); })()")
    browser.type("zip")
    assert browser.evaluate("document.querySelectorAll('#completions [role=option]').length") == 2
    browser.press("ArrowDown", "Enter")
    assert browser.evaluate("document.getElementById('expression').value") == "zipped_product("
    assert browser.evaluate("document.getElementById('completions').hidden")
    browser.type("(2,2):(1,2), (3,3):(1,3))")
    browser.wait("document.getElementById('result').textContent === '((2,2),(3,3)):((1,2),(4,12))'")


def test_going_back_closes_the_completions(browser: Browser) -> None:
    browser.evaluate("(() => { const box = document.getElementById('expression'); box.focus(); box.select(); })()")
    browser.type("zip")
    assert not browser.evaluate("document.getElementById('completions').hidden")
    browser.evaluate("document.getElementById('undo').click()")
    browser.settled()
    assert browser.evaluate("document.getElementById('completions').hidden")


def test_pointing_writes_the_sum(browser: Browser) -> None:
    browser.point_at(*browser.cell(5, 2))
    browser.wait("document.getElementById('say').textContent")
    assert browser.text("#say") == "(2,5) → index 42 → 2·8 + 5·1 = 21"


def test_a_click_tells_the_cell_and_frames_its_thread(browser: Browser) -> None:
    browser.click(*browser.cell(5, 2))
    browser.wait("document.querySelectorAll('#cell dd').length")
    browser.wait("document.querySelectorAll('#marks .owned').length === 8")
    told = browser.text("#cell")
    assert "0x54, 4 bytes" in told and "21 of 32" in told and "one access of 4 bytes" in told
    assert browser.text("#thread-is") == "2"
    assert browser.evaluate("document.querySelectorAll('#touched tr').length") == 9


def test_sliders_choose_thread_and_value(browser: Browser) -> None:
    browser.go("((4,8),(2,2)):((32,1),(16,8))", view="tv", over="(16,8)")
    browser.evaluate("document.getElementById('thread').focus()")
    browser.press("ArrowRight", "ArrowRight", "ArrowRight")
    browser.wait("document.querySelectorAll('#marks .owned').length === 4")
    assert browser.text("#thread-is") == "3"
    browser.evaluate("document.getElementById('value').focus()")
    browser.press("ArrowRight")
    browser.wait("document.querySelectorAll('#marks .owned').length === 1")
    browser.wait("location.hash.includes('thread=3') && location.hash.includes('value=0')")


def test_a_link_brings_everything_back(browser: Browser) -> None:
    browser.go("(8,8):(8,1)", view="banks", color="none", element_bytes=2, thread=3, access=16, lanes=1)
    assert browser.evaluate("document.querySelector('[role=tab][aria-selected=true]').textContent") == "Banks"
    assert browser.evaluate("document.querySelector('[name=color]').value") == "none"
    assert browser.text("#thread-is") == "3" and browser.evaluate("document.getElementById('access').value") == "16"
    assert browser.text("#verdicts li:last-child").startswith("values 4 to 7: not one access of 16 bytes")
    assert browser.evaluate("document.getElementById('lanes').value") == "1"


def test_a_link_is_followed_even_as_the_address_is_written(browser: Browser) -> None:
    """The address is written 400 ms after a slider is moved; the link is followed in the task before that one."""
    browser.go("(3,9):(1,3)", view="tv")
    browser.evaluate("""new Promise((done) => {
        const start = performance.now(), slider = document.getElementById('thread');
        setTimeout(() => { location.hash = '#e=(3,9):(1,3)&view=tiles'; setTimeout(done, 50); }, 400);
        slider.value = 2;
        slider.dispatchEvent(new Event('input'));
        setTimeout(() => { while (performance.now() - start < 410); }, 300); // both timers are due after this
    })""")
    browser.settled()
    assert browser.evaluate("document.querySelector('[role=tab][aria-selected=true]').dataset.view") == "tiles"
    assert browser.evaluate("location.hash") == "#e=(3,9):(1,3)&view=tiles"
    browser.evaluate("document.getElementById('undo').click()")
    browser.settled()
    assert browser.evaluate("document.querySelector('[role=tab][aria-selected=true]').dataset.view") == "tv"


def test_a_slow_python_is_waited_for(browser: Browser) -> None:
    """A link is followed while a picture is asked for: that picture comes first, all of the link's after it."""
    seen = "document.getElementById('answer').innerText + document.getElementById('aside').innerText"
    link = {"view": "banks", "thread": 2, "cell": "0.5"}
    browser.go("(3,9):(1,3)", **link)
    wanted = browser.evaluate(seen)
    browser.go("(8,8):(8,1)")
    browser.evaluate("""(() => {
        globalThis.quick = Worker.prototype.postMessage;
        Worker.prototype.postMessage = function (...sent) { setTimeout(() => quick.apply(this, sent), 300); };
        document.getElementById('view-tiles').click();
    })()""")
    browser.go("(3,9):(1,3)", **link)
    shown = browser.evaluate(seen)
    browser.evaluate("Worker.prototype.postMessage = quick, 0")
    browser.settled()
    assert shown == wanted


def test_a_view_gives_way_with_its_options(browser: Browser) -> None:
    """A vector has no view of threads, and the grid no tile that threads are laid over."""
    browser.go("64:1", view="tv", over="(32,16)", cell="0.3")
    assert browser.evaluate("document.querySelector('[role=tab][aria-selected=true]').dataset.view") == "grid"
    assert browser.text("#say") == "" and browser.text("#cell p").endswith("3")
    assert browser.evaluate("document.getElementById('figure').shadowRoot.querySelectorAll('path title').length") == 64


def test_views_are_tabs(browser: Browser) -> None:
    browser.evaluate("document.querySelector('[role=tab][aria-selected=true]').focus()")
    browser.press("ArrowRight", "ArrowRight")
    browser.wait("document.querySelector('[role=tab][aria-selected=true]').dataset.view === 'tiles'")
    browser.settled()
    assert browser.focused() == "view-tiles"
    assert browser.evaluate("document.querySelector('#options input').placeholder") == "(4,4)"
    browser.evaluate("document.querySelector('#options input').focus()")
    browser.type("(3,0)")  # refused: the text stays
    browser.wait("document.getElementById('say').textContent.includes('size is 0')")
    assert browser.evaluate("document.querySelector('#options input').value") == "(3,0)"


def test_a_swizzle_is_found_and_used(browser: Browser) -> None:
    browser.go("(32,32):(32,1)", view="banks")
    assert "32-way conflict" in browser.text("#memory")
    browser.evaluate("document.getElementById('better').click()")
    browser.wait("document.querySelectorAll('#found button').length")
    browser.evaluate("document.querySelector('#found button').click()")
    browser.wait("document.getElementById('result').textContent === 'S<5,0,5> o 0 o (32,32):(32,1)'")
    browser.settled()
    assert "no conflict" in browser.text("#memory")


def test_explain_goes_forward_and_back(browser: Browser) -> None:
    browser.go("composition((6,2):(8,2), (4,3):(3,1))")
    assert browser.text("#step") == "0 of 5"
    for _step in range(5):
        browser.evaluate("document.getElementById('forward').click()")
    assert browser.text("#told p") == "= ((2,2),3):((24,2),8)"
    assert browser.evaluate("document.getElementById('forward').disabled")
    browser.evaluate("document.getElementById('back').click()")
    assert "side by side" in browser.text("#told p")


@pytest.mark.parametrize("format", ["fence", "svg", "tikz", "text", "cute", "cpp", "pycute", "python", "latex"])
def test_exports(browser: Browser, format: str) -> None:
    browser.evaluate(
        f"(() => {{ const f = document.getElementById('format'); f.value = '{format}';"
        " f.dispatchEvent(new Event('change')); })()"
    )
    browser.settled()
    wanted = asked("export", text="(8,8):(8,1)", view="grid", options={}, format=format)["text"]
    assert browser.evaluate("document.getElementById('exported').value") == wanted.replace("\r\n", "\n")


def test_files_are_saved(browser: Browser, tmp_path: Path) -> None:
    browser._call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    for format, name, begins in (("png", "layout.png", b"\x89PNG"), ("svg", "layout.svg", b"<svg")):
        browser.evaluate(
            f"(() => {{ const f = document.getElementById('format'); f.value = '{format}';"
            " f.dispatchEvent(new Event('change')); document.getElementById('save').click(); })()"
        )
        deadline = time.monotonic() + 30
        while not (tmp_path / name).exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert (tmp_path / name).read_bytes().startswith(begins)


def test_the_keyboard_alone_is_enough(browser: Browser) -> None:
    """From the expression by Tab to the tabs, the picture, its cells."""
    browser.evaluate("document.getElementById('expression').focus()")
    seen = [browser.focused()]
    while seen[-1] != "stage" and len(seen) < 12:
        browser.press("Tab")
        seen.append(browser.focused())
    assert seen[-1] == "stage", seen
    browser.press("ArrowDown", "ArrowDown", "ArrowRight")
    browser.wait("document.getElementById('say').textContent.startsWith('(1,1)')")
    browser.press("Enter")
    browser.wait("document.querySelectorAll('#marks .owned').length === 8")
    browser.press("Escape")
    browser.wait("document.querySelectorAll('#marks rect').length === 0")


def test_a_large_picture_is_drawn_where_it_is_seen(browser: Browser) -> None:
    browser.go("(512,512):(512,1)")
    canvas = "document.getElementById('canvas')"
    assert not browser.evaluate(f"{canvas}.hidden")
    assert browser.evaluate(f"{canvas}.width <= innerWidth")
    seen = f"{canvas}.toDataURL()"
    before = browser.evaluate(seen)
    frames = browser.evaluate(
        "new Promise((done) => { const stage = document.getElementById('stage'); const times = []; let last;"
        " const step = (now) => { if (last) times.push(now - last); last = now;"
        " stage.scrollTop += 97; stage.scrollLeft += 131;"
        " times.length < 40 ? requestAnimationFrame(step) : done(times); }; requestAnimationFrame(step); })"
    )
    assert isinstance(frames, list) and len(frames) == 40
    assert browser.evaluate(seen) != before
    browser.evaluate("document.getElementById('stage').focus()")
    browser.press("ArrowDown", "ArrowDown")
    browser.wait("document.getElementById('say').textContent.startsWith('(1,0)')")


def colors(browser: Browser) -> list[object]:
    inside = "document.getElementById('figure').shadowRoot.querySelector('svg text')"
    return list(browser.evaluate(f"[getComputedStyle(document.body).backgroundColor, getComputedStyle({inside}).fill]"))  # type: ignore[call-overload]


def test_dark_and_light_follow_the_system_and_the_switch(browser: Browser) -> None:
    light = colors(browser)
    browser.dark(True)
    browser.settled()
    dark = colors(browser)
    assert all(a != b for a, b in zip(light, dark, strict=True))
    browser.evaluate("document.getElementById('theme').click()")
    assert browser.evaluate("document.getElementById('theme').ariaLabel") == "Theme: light"
    assert colors(browser) == light
    browser.evaluate("document.getElementById('theme').click()")
    browser.dark(False)
    assert colors(browser) == dark
    browser.evaluate("document.getElementById('theme').click()")
    assert colors(browser) == light


@pytest.mark.parametrize("text", ["(8,8):(8,1)", "zipped_divide((8,8):(8,1), (4,4))", "(64,64):(64,1)"])
def test_a_phone_has_no_tiny_label_and_nothing_sticks_out(browser: Browser, text: str) -> None:
    browser.resize(390, 844)
    browser.go(text)
    assert browser.evaluate("document.documentElement.scrollWidth") == 390
    small = (
        "[...document.querySelectorAll('body *'),"
        " ...document.getElementById('figure').shadowRoot.querySelectorAll('text')]"
        ".filter((e) => e.childNodes.length && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())"
        " && e.getClientRects().length && parseFloat(getComputedStyle(e).fontSize) * (e.ownerSVGElement ?"
        " e.ownerSVGElement.getBoundingClientRect().width / e.ownerSVGElement.viewBox.baseVal.width : 1) < 9).length"
    )
    assert browser.evaluate(small) == 0


@pytest.mark.parametrize("one", [False, True], ids=["one", "other"])
@pytest.mark.parametrize(
    ("number", "text"), [*enumerate(["composition((6,2):(8,2), (4,3):(3,1))", "(64,64):(64,1)", "(8,8)x"])]
)
def test_axe_finds_no_violation(browser: Browser, axe: str, number: int, text: str, one: bool) -> None:
    """Each text in two windows and two lights, each window in each light: all pairs, in half of the cases."""
    width, dark = (1280, 390)[one], one != (number == 1)
    browser.resize(width, 900)
    browser.dark(dark)
    if text.endswith("x"):
        browser.go("(8,8):(8,1)")
        browser.evaluate("(() => { const box = document.getElementById('expression'); box.focus(); box.select(); })()")
        browser.type("co(8,8)x")
    else:
        browser.go(text, thread=1)
    browser.settled()
    browser.evaluate(f"window.axe || eval({json.dumps(axe)}), 0")
    found = browser.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then((all) => JSON.stringify(all.violations.map((each) =>"
        " [each.id, each.nodes.map((node) => node.html.slice(0, 120) + node.failureSummary.slice(0, 300))])))"
    )
    assert json.loads(str(found)) == []


def test_kernels_run_in_the_page(with_gpu: Browser) -> None:
    for name in ("saxpy", "transpose", "matmul"):
        with_gpu.evaluate(
            f"(() => {{ const all = document.getElementById('kernel'); all.value = '{name}';"
            " all.dispatchEvent(new Event('change')); document.getElementById('run').click(); })()"
        )
        with_gpu.wait("/^(Ran|Not run)/.test(document.getElementById('ran').textContent)")
        said = with_gpu.text("#ran")
        assert re.fullmatch(r"Ran on .*: \d+ elements, (equal to|within \S+e-\d+ of) the interpreter's.*", said), said
        assert "@compute" in with_gpu.text("#kernel-text")


def test_a_kernel_is_exported_as_the_page_runs_it(with_gpu: Browser) -> None:
    with_gpu.evaluate(
        "(() => { const part = document.getElementById('part'); part.value = 'module';"
        " document.getElementById('kernel').value = 'matmul';"
        " part.dispatchEvent(new Event('change')); })()"
    )
    shown = with_gpu.text("#kernel-text")
    assert "@compute" in shown and "export async function load(" in shown
    saved = with_gpu.evaluate(
        "(() => { const click = HTMLAnchorElement.prototype.click, make = URL.createObjectURL; let link, blob;"
        " HTMLAnchorElement.prototype.click = function () { link = this; };"
        " URL.createObjectURL = (given) => make.call(URL, (blob = given));"
        " document.getElementById('save-kernel').click();"
        " HTMLAnchorElement.prototype.click = click; URL.createObjectURL = make;"
        " return blob.text().then((text) => [link.download, text]); })()"
    )
    assert saved == ["matmul.js", shown]


def test_without_a_gpu_the_interpreters_result_is_shown(browser: Browser) -> None:
    browser.evaluate("document.getElementById('run').click()")
    browser.wait("document.getElementById('ran').textContent.startsWith('Not run')")
    assert "The interpreter's result begins" in browser.text("#ran")
    for part, word in (("proof", "proven"), ("report", "saxpy")):
        browser.evaluate(
            f"(() => {{ const part = document.getElementById('part'); part.value = '{part}';"
            " part.dispatchEvent(new Event('change')); })()"
        )
        assert word in browser.text("#kernel-text")


def test_a_long_question_can_be_stopped(browser: Browser) -> None:
    slow = {"ask": "found", "text": "(48,80):(80,1)", "access": {**ACCESS, "access_bytes": 8}}
    hasty = "(work, after) => patient(work, Math.min(after, 50))"  # Python in the page answers most things too soon
    browser.evaluate(
        f"globalThis.patient = setTimeout; globalThis.setTimeout = {hasty}; void cutepy({json.dumps(slow)})"
    )
    browser.wait("!document.getElementById('stop').hidden")
    ready = "performance.getEntriesByName('python-ready').length"
    before = browser.evaluate(ready)
    browser.evaluate("globalThis.setTimeout = patient; document.getElementById('stop').click()")
    browser.wait(f"{ready} > {before}")
    browser.go("(4,4):(4,1)")
    assert browser.text("#result") == "(4,4):(4,1)"


def test_python_in_the_page_answers_every_question(opened: Browser) -> None:
    about = {"text": "((4,8),(2,2)):((32,1),(16,8))", "view": "tv", "options": {"over": "(16,8)"}}
    for question in (
        {"ask": "cell", **about, "grid": 0, "place": 5, "access": ACCESS},
        {"ask": "thread", **about, "thread": 3, "value": None, "access": ACCESS},
        {"ask": "memory", "text": about["text"], "access": ACCESS},
        {"ask": "found", "text": "(16,16):(16,1)", "access": {**ACCESS, "access_bytes": 16}},
        {"ask": "told", "text": "complement((2,2):(1,4), 16)"},
        {"ask": "names"},
    ):
        assert opened.ask(**question) == asked(**question)
