"""What must hold of every picture of the page, judged by arithmetic of its own: cells clicked, actions repeated.

`cells_are_wrong` clicks every cell of a view and compares what the page says with the sum over coordinate and stride.
`actions_are_wrong` does random things and compares the page with one that is opened at the address that is then shown.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product as combinations
from math import prod

from explore.browser import Browser
from explore.questions import asked

Tree = int | tuple["Tree", ...]


@dataclass(frozen=True)
class Case:
    """A layout as numbers: its text, and what it gives at a coordinate, computed without cutepy."""

    shape: Tree
    stride: Tree
    swizzle: tuple[int, int, int] | None = None

    @property
    def text(self) -> str:
        plain = f"{spelt(self.shape)}:{spelt(self.stride)}"
        return plain if self.swizzle is None else f"S<{','.join(map(str, self.swizzle))}> o 0 o {plain}"

    def at(self, crd: Tree) -> int:
        offset = dotted(crd, self.stride)
        if self.swizzle is None:
            return offset
        bits, base, shift = self.swizzle
        return offset ^ (offset >> shift & ((1 << bits) - 1) << base)

    def coordinates(self) -> Iterator[Tree]:
        """Every coordinate, nested as the shape."""
        return nested(self.shape)

    def thread(self, crd: Tree, lanes: int) -> int:
        """The number of a coordinate's thread: the colexicographic index within the mode that counts threads."""
        if not isinstance(crd, tuple) or len(crd) < 2:
            return colex(crd, self.shape)
        assert isinstance(self.shape, tuple)
        return colex(crd[lanes], self.shape[lanes])


def spelt(tree: Tree) -> str:
    return f"({','.join(map(spelt, tree))})" if isinstance(tree, tuple) else str(tree)


def dotted(crd: Tree, stride: Tree) -> int:
    if isinstance(crd, tuple) and isinstance(stride, tuple):
        return sum(map(dotted, crd, stride))
    assert isinstance(crd, int) and isinstance(stride, int)
    return crd * stride


def nested(shape: Tree) -> Iterator[Tree]:
    if isinstance(shape, tuple):
        return iter(combinations(*map(nested, shape)))
    return iter(range(shape))


def extent(shape: Tree) -> int:
    return prod(map(extent, shape)) if isinstance(shape, tuple) else shape


def colex(crd: Tree, shape: Tree) -> int:
    if not isinstance(crd, tuple) or not isinstance(shape, tuple):
        assert isinstance(crd, int)
        return crd
    index, step = 0, 1
    for entry, mode in zip(crd, shape, strict=True):
        index, step = index + step * colex(entry, mode), step * extent(mode)
    return index


def tree_of(text: str) -> Tree:
    def tupled(entry: object) -> Tree:
        return tuple(map(tupled, entry)) if isinstance(entry, list) else int(str(entry))

    return tupled(json.loads(text.replace("(", "[").replace(")", "]")))


def random_case(rng: random.Random) -> Case:
    """A layout of up to 96 coordinates: vectors that fold, nested modes, padding, shared offsets, swizzles."""
    modes = [random_mode(rng) for _mode in range(rng.choice([1, 1, 2, 2, 2, 3]))]
    if len(modes) == 1 and rng.random() < 0.6:
        modes = [rng.randint(33, 90)]  # a vector of more than a row
    while extent(tuple(modes)) > 96:
        modes = [random_mode(rng) for _mode in modes]
    shape: Tree = tuple(modes) if len(modes) > 1 or isinstance(modes[0], tuple) else modes[0]
    sizes = list(flat(shape))
    steps, step = [0] * len(sizes), 1
    for place in rng.sample(range(len(sizes)), len(sizes)):  # compact in any order, often padded, sometimes shared
        steps[place] = 0 if rng.random() < 0.08 else step
        step *= sizes[place] + (rng.randint(1, 3) if rng.random() < 0.2 else 0)
    swizzle = (rng.randint(1, 2), rng.randint(0, 2), rng.randint(2, 3)) if rng.random() < 0.25 else None
    return Case(shape, like(shape, iter(steps)), swizzle)


def random_mode(rng: random.Random) -> Tree:
    leaves = rng.choice([1, 1, 2])
    return rng.randint(1, 9) if leaves == 1 else (rng.randint(2, 4), rng.randint(2, 4))


def flat(tree: Tree) -> Iterator[int]:
    if isinstance(tree, tuple):
        for entry in tree:
            yield from flat(entry)
    else:
        yield tree


def like(shape: Tree, numbers: Iterator[int]) -> Tree:
    return tuple(like(entry, numbers) for entry in shape) if isinstance(shape, tuple) else next(numbers)


READ = """
  const $ = (id) => document.getElementById(id);
  const [sheet, stage, marks] = [$('sheet'), $('stage'), $('marks')];
  const middle = (e) => { const b = e.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; };
  const inside = (box, [x, y]) => x > box.left && x < box.right && y > box.top && y < box.bottom;
  const root = $('figure').shadowRoot;
  const paths = [...root.querySelectorAll('path')].filter((p) => p.querySelector('title')?.textContent);
  const read = (number, boxes, texts, frames) => {
    const labels = texts.filter(([at]) => inside(boxes[number], at)).sort((a, b) => a[0][1] - b[0][1]);
    const rows = [...document.querySelectorAll('#cell dt')].map((dt) => [dt.textContent, dt.nextSibling.textContent]);
    return {
      label: labels.map(([, text]) => text), title: paths[number].textContent, rows: Object.fromEntries(rows),
      say: $('say').textContent, sum: document.querySelector('#cell p').textContent,
      frames: frames.map((at) => boxes.findIndex((box) => inside(box, at))).sort((a, b) => a - b),
      status: $('status').textContent,
    };
  };
  const measured = () => [
    paths.map((path) => path.getBoundingClientRect()),
    [...root.querySelectorAll('text')].map((t) => [middle(t), t.textContent]),
  ];
"""
"""What is said of a cell, and over which cells frames lie."""

CLICK_ALL = f"""(async () => {{ {READ}
  const all = (asked) => Promise.all(asked.map(cutepy));
  const looked = await cutepy({{ask: 'look', ...SHOWN}});
  const asked = (looked.grids ?? []).flatMap((g, grid) => [...Array(g.rows * g.columns).keys()].map(
    (place) => ({{ask: 'cell', ...SHOWN, grid, place, access: ACCESS}})));
  const answers = await all(asked);
  const threads = new Set(answers.map(({{thread}}) => thread).filter((thread) => thread !== undefined));
  await all([...threads].map((thread) => ({{ask: 'thread', ...SHOWN, thread, value: null, access: ACCESS}})));

  let heard = () => {{}};
  cutepy.onrest(() => heard());
  const soon = () => new Promise((done) => {{
    const {{ port1, port2 }} = new MessageChannel();
    port1.onmessage = done;
    port2.postMessage(0);
  }});
  const idle = async () => {{  // answers that are kept come in a microtask, so first one task passes
    await soon();
    while (!cutepy.idle()) {{
      await new Promise((done) => ((heard = done), setTimeout(done, 50)));
      await soon();
    }}
  }};
  const was = $('aside').style.display;
  $('aside').style.display = 'none';  // it is written to all the same, and need not be placed and painted each time
  document.documentElement.style.visibility = 'hidden';
  const [boxes, texts] = measured();
  const {{left, top, width}} = sheet.getBoundingClientRect(), scale = width / marks.viewBox.baseVal.width;
  const out = [];
  for (const number of paths.keys()) {{
    const {{x, y, width: w, height: h}} = boxes[number];
    stage.dispatchEvent(new MouseEvent('click', {{clientX: x + w / 2, clientY: y + h / 2}}));
    await idle();
    const frames = [...marks.querySelectorAll('.owned')].map(({{x, y, width: w, height: h}}) => [
      left + (x.baseVal.value + w.baseVal.value / 2) * scale, top + (y.baseVal.value + h.baseVal.value / 2) * scale]);
    out.push(read(number, boxes, texts, frames));
  }}
  document.documentElement.style.visibility = '';
  $('aside').style.display = was;
  return JSON.stringify(out);
}})()"""
"""Every cell clicked at its middle, by events: the questions are asked before, all at once, for the page keeps their
answers; where frames are follows from the numbers of their boxes and of the sheet."""

SHOW = f"""(() => {{ {READ}
  paths[NUMBER].scrollIntoView({{block: 'center', inline: 'center'}});
  return middle(paths[NUMBER]);
}})()"""
SEE = f"""(() => {{ {READ}
  const [boxes, texts] = measured();
  return JSON.stringify(read(NUMBER, boxes, texts, [...marks.querySelectorAll('.owned')].map(middle)));
}})()"""
COUNT = f"(() => {{ {READ} return paths.length; }})()"
SAMPLE = 2
"""Cells of each view that the mouse clicks, before any question about them is answered."""


def seen(browser: Browser, number: int) -> dict:
    """What the page says of a cell that the mouse clicks."""
    x, y = browser.evaluate(SHOW.replace("NUMBER", str(number)))  # type: ignore[misc]
    browser.click(x, y)
    browser.settled()
    return json.loads(str(browser.evaluate(SEE.replace("NUMBER", str(number)))))


def cases(rng: random.Random) -> Iterator[tuple[Case, str, str, int]]:
    """A random layout with each text, view and mode of threads to click it through; steps are those of calls."""
    case = random_case(rng)
    lanes = rng.randint(0, 1)
    for view in asked("look", text=case.text)["views"]:
        yield case, "", str(view), lanes
    if case.swizzle is None:
        yield case, f"composition({case.text}, {spelt(case.shape)})", "steps", lanes


def cells_are_wrong(browser: Browser, case: Case, view: str, lanes: int = 0, text: str = "") -> list[str]:
    """What is wrong of the cells of a view, each clicked at its middle, some of them by the mouse."""
    browser.go(text or case.text, view=view, lanes=lanes)
    count = int(str(browser.evaluate(COUNT)))
    sample = random.Random(f"{case.text} {view}").sample(range(count), min(SAMPLE, count))
    by_mouse = {number: seen(browser, number) for number in sample}
    browser.point_at(1, 1)  # a picture that is hidden under the mouse is left by it
    browser.settled()
    shown = json.dumps({"text": text or case.text, "view": view, "options": {}})
    access = json.dumps({"element_bytes": 4, "access_bytes": 4, "lanes": lanes})
    found = json.loads(str(browser.evaluate(CLICK_ALL.replace("SHOWN", shown).replace("ACCESS", access))))
    lanes = 0 if view == "tv" else lanes
    wrong = [problem for cell in found for problem in _cell_is_wrong(case, view, cell)]
    for number, cell in by_mouse.items():
        kept = () if cell["rows"] else ("frames",)  # where nothing is, the thread that was chosen before stays
        one, other = ({name: said for name, said in each.items() if name not in kept} for each in (found[number], cell))
        wrong += [f"by the mouse, {what}" for what in differences(one, other)]
    crds: dict[int, list[Tree]] = {}
    for crd in case.coordinates():
        crds.setdefault(case.at(crd), []).append(crd)
    shared = view in ("tv", "memory")  # views whose cells are offsets: each shows all coordinates that share it
    held = []
    for cell in found:
        own = crds[int(cell["rows"]["offset"])] if cell["rows"] and shared else []
        own = [tree_of(cell["rows"]["coordinate"])] if cell["rows"] and not shared else own
        held.append({case.thread(crd, lanes) for crd in own})
    for cell, threads in zip(found, held, strict=True):
        chosen = next((int(name.split()[1]) for name in cell["rows"] if name.startswith("thread ")), None)
        if chosen is not None and chosen not in threads:
            wrong.append(f"thread {chosen} at {cell['title']}, the threads there are {sorted(threads)}")
        frames = [number for number, there in enumerate(held) if chosen in there]
        if cell["rows"] and cell["frames"] != frames:
            wrong.append(f"frames of thread {chosen} are on cells {cell['frames']}, its own are {frames}")
    return [f"{text or case.text}, view {view}, threads along {lanes}: {problem}" for problem in wrong]


def _cell_is_wrong(case: Case, view: str, cell: dict) -> Iterator[str]:
    rows, label = cell["rows"], "\n".join(cell["label"])
    if cell["status"]:
        yield f"the page says {cell['status']!r}"
    if cell["say"] != cell["sum"]:
        yield f"under the picture stands {cell['say']!r}, beside it {cell['sum']!r}"
    if not cell["say"]:
        yield f"nothing is said of {cell['title']}"
    if not rows:
        return
    crd = tree_of(rows["coordinate"])
    offset = case.at(crd)
    if int(rows["offset"]) != offset:
        yield f"{rows['coordinate']} is said to be at {rows['offset']}, it is at {offset}"
    if int(rows["index"]) != colex(crd, case.shape):
        yield f"{rows['coordinate']} is said to have index {rows['index']}, it is {colex(crd, case.shape)}"
    if not cell["say"].endswith(f" {offset}"):
        yield f"the sum {cell['say']!r} does not end at {offset}"
    digits = [part for part in label.replace("(", ",").replace(")", ",").split(",") if part]
    shown = {"grid": str(offset), "tiles": str(offset), "steps": str(offset), "banks": str(offset % 32)}
    if view in shown and label != shown[view]:
        yield f"{rows['coordinate']} is drawn as {label!r}, not as {shown[view]}"
    if view == "memory" and digits[: len(list(flat(crd)))] != [str(leaf) for leaf in flat(crd)]:
        if not label.split("\n")[0] == rows["coordinate"]:
            yield f"offset {offset} is drawn as {label!r}, not as {rows['coordinate']}"


SNAPSHOT = """(() => {
  const text = (id) => document.getElementById(id).textContent;
  const fields = [...document.querySelectorAll('#options [name]')].map((f) => [f.name, f.value, f.placeholder ?? '']);
  const error = text('complaint');
  const always = { error, invalid: document.getElementById('expression').getAttribute('aria-invalid'),
    typed: document.getElementById('expression').value };
  if (error) return JSON.stringify({ ...always, old: document.body.classList.contains('old') });
  const root = document.getElementById('figure').shadowRoot;
  const tab = document.querySelector('[role=tab][aria-selected=true]');
  const state = ['result', 'facts', 'cell', 'thread-is', 'value-is', 'touched', 'verdicts', 'threads-are', 'memory',
    'told', 'step', 'views', 'say', 'last', 'status'].map((id) => [id, text(id)]);
  const chosen = ['thread', 'value', 'lanes', 'element', 'access', 'exported'].map((id) => {
    const it = document.getElementById(id);
    return [id, it.value, it.max ?? '', it.disabled];
  });
  return JSON.stringify({ ...always, state, chosen, fields, tab: tab?.dataset.view ?? '',
    picture: root.innerHTML, marks: document.getElementById('marks').innerHTML,
    hidden: [...document.querySelectorAll('[hidden]')].map((e) => e.id),
    stage: document.getElementById('stage').ariaLabel });
})()"""

TEXTS = (
    "64:1",
    "(8,8):(8,1)",
    "(2,4,3):(4,1,8)",
    "((4,8),(2,2)):((32,1),(16,8))",
    "zipped_divide((8,8):(8,1), (4,4))",
    "composition((6,2):(1,7), (3,2):(2,3))",
    "composition((6,2):(8,2), (4,3):(3,1))",
    "S<3,0,3> o 0 o (8,8):(8,1)",
    "(100000,100000):(100000,1)",
    "(48,48):(48,1)",
    "(4,4):(1@0,1@1)",
    "(8,8)x",
    "zip",
    "",
)
"""Layouts that fold, nest, are refused, are too large, have other views; texts that are none."""


def actions_are_wrong(browser: Browser, rng: random.Random, count: int, address: str) -> list[str]:
    """Do `count` random things, then compare the page with one that is opened at its address."""
    done = [_act(browser, rng) for _action in range(count)]
    browser.evaluate(
        "document.activeElement.blur(), document.getElementById('stage').dispatchEvent(new Event('pointerleave'))"
    )
    browser.settled()
    browser.evaluate("new Promise((done) => setTimeout(done, 500))")  # the address follows after a rest, so does Back
    browser.settled()
    steps = int(browser.text("#step").split()[0] or 0) if browser.text("#step") else 0
    before, link = json.loads(str(browser.evaluate(SNAPSHOT))), str(browser.evaluate("location.hash"))
    format = str(browser.evaluate("document.getElementById('format').value"))
    browser.open("about:blank")
    browser.start(address + link)
    browser.settled()
    browser.evaluate(f"""(() => {{ const f = document.getElementById('format'); f.value = {json.dumps(format)};
        f.dispatchEvent(new Event('change'));
        for (let k = 0; k < {steps}; k++) document.getElementById('forward').click(); }})()""")
    browser.settled()
    browser.settled()
    after = json.loads(str(browser.evaluate(SNAPSHOT)))
    return [f"{link}: {what}, after {done}" for what in differences(before, after)]


def differences(one: object, other: object) -> Iterator[str]:
    """What is unlike in two values of JSON, each as short as it goes."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            yield from (f"{key}: {what}" for what in differences(one.get(key), other.get(key)))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for mine, its in zip(one, other, strict=True):
            yield from (f"{mine!r:.20}: {what}" for what in differences(mine, its))
    elif one != other:
        yield f"{one!r:.200} is {other!r:.200} on the other page"


ACTIONS = {
    "text": "const it = $('expression'); it.value = TEXT; it.dispatchEvent(new Event('input'));",
    "link": "location.hash = '#' + new URLSearchParams({e: TEXT, thread: 2});",
    "view": "const all = document.querySelectorAll('#views [role=tab]'); all[Math.floor(X * all.length)]?.click();",
    "option": """const all = document.querySelectorAll('#options [name]'), it = all[Math.floor(X * all.length)];
        if (!it) return;
        if (it.tagName === 'SELECT') it.selectedIndex = Math.floor(Y * it.length); else it.value = OPTION;
        it.focus();
        it.dispatchEvent(new Event('input', {bubbles: true}));""",
    "click": """const {left, top, width, height} = $('sheet').getBoundingClientRect();
        $('stage').dispatchEvent(new MouseEvent('click', {clientX: left + X * width, clientY: top + Y * height}));""",
    "slide": "const it = $(X < 0.5 ? 'thread' : 'value'); it.value = Math.floor(Y * 9) - 1; change(it, 'input');",
    "access": "const it = $(['lanes', 'element', 'access'][Math.floor(X * 3)]); choose(it, Math.floor(Y * it.length));",
    "key": "change($('stage'), new KeyboardEvent('keydown', {key: KEY}));",
    "back": "if (!$('undo').disabled) history.back();",
    "undo": "$('undo').click();",
    "example": "choose($('examples'), 1 + Math.floor(X * 12));",
    "export": "choose($('format'), [0, 4, 5][Math.floor(X * 3)]);",
    "step": "$('forward').click();",
}
"""What a person may do to the page: X and Y are random, from 0 to 1."""

HELPERS = """const $ = (id) => document.getElementById(id);
    const change = (it, event) => it.dispatchEvent(typeof event === 'string' ? new Event(event) : event);
    const choose = (it, index) => { it.selectedIndex = index; change(it, 'change'); };"""


def _act(browser: Browser, rng: random.Random) -> str:
    """One random thing that a person may do, in haste or with a rest after it."""
    does = rng.choice(["text", "text", "click", "click", *ACTIONS])
    given = {
        "TEXT": rng.choice(TEXTS),
        "OPTION": rng.choice(["", "4", "(2,2)", "(1,_)", "nonsense", "8"]),
        "KEY": rng.choice(["ArrowDown", "ArrowRight", "Enter", "Escape"]),
        "X": rng.random(),
        "Y": rng.random(),
    }
    known = "".join(f"const {name} = {json.dumps(value)};" for name, value in given.items())
    browser.evaluate(f"(() => {{ {HELPERS} {known} {ACTIONS[does]} }})()")
    if rng.random() < 0.5:
        browser.settled()
    return f"{does} {given['TEXT']}" if does in ("text", "link") else does
