"""The hosts of examples/hosts launch exported kernels as the interpreter does: Python's wgpu, wgpu-native from C; of
Rust's the part that needs no crate but serde_json is held to the formulas.

What is not to be had is named: a device, a C compiler with cJSON and wgpu's headers, cargo with serde_json, the crate.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from host_cases import Case, planned, same, sized

from cutepy.errors import DeviceError
from cutepy.gpu import default_device, open_device

HOSTS = Path(__file__).parents[4] / "examples" / "hosts"
NAMES = ("saxpy", "softmax", "transpose", "matmul", "attention", "own gather")
CRATES = Path("/usr/share/cargo/registry")
Host = Callable[[list[list[str]]], list[str]]


@pytest.fixture(scope="module")
def device() -> None:
    """A device that wgpu opens."""
    try:
        default_device()
    except DeviceError as error:
        if os.environ.get("CUTEPY_REQUIRE_DEVICE", "0") != "0":
            raise
        pytest.skip(f"NOT TESTED: {error}")


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The host in C, compiled against what the wheel of wgpu-py has."""
    import wgpu

    native = Path(wgpu.__file__).parent / "resources"
    library = native / "libwgpu_native-release.so"
    if not (compiler := shutil.which("cc")) or not Path("/usr/include/cjson/cJSON.h").exists() or not library.exists():
        pytest.skip(
            "NOT TESTED: no C compiler, no cJSON (apt install gcc libcjson-dev) or no libwgpu_native of wgpu-py"
        )
    made = tmp_path_factory.mktemp("c") / "host"
    flags = [f"-I{native}", f"-L{native}", "-l:libwgpu_native-release.so", f"-Wl,-rpath,{native}", "-lcjson"]
    command = [compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", HOSTS / "host.c", *flags, "-o", made]
    subprocess.run(command, check=True, timeout=100)
    return str(made)


#: Runs the host once for each line of arguments, in one Python: what it ends with, as a list of JSON.
EACH = """
import json, runpy, sys
said = []
for sys.argv in map(json.loads, sys.stdin):
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
        said.append("")
    except SystemExit as error:
        said.append(error.code)
print(json.dumps(said))
"""


def by_python(calls: list[list[str]]) -> list[str]:
    """What the host in Python says of each call. Without cutepy: it finds nothing of this repository."""
    lines = "".join(json.dumps([str(HOSTS / "host.py"), *call]) + "\n" for call in calls)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    ran = subprocess.run(
        [sys.executable, "-c", EACH], input=lines, env=environment, capture_output=True, text=True, timeout=100
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)  # type: ignore[no-any-return]


def by_command(host: str, calls: list[list[str]]) -> list[str]:
    """What a host says of each call, a process each."""
    runs = [subprocess.run([host, *call], capture_output=True, text=True, timeout=100) for call in calls]
    return ["" if run.returncode == 0 else run.stderr.splitlines()[-1] if run.stderr else "?" for run in runs]


@pytest.fixture
def host(request: pytest.FixtureRequest) -> Host:
    """The host in the language that the test is given."""
    if request.getfixturevalue("language") == "python":
        return by_python
    return partial(by_command, request.getfixturevalue("in_c"))


def launched(host: Host, cases: list[Case], folder: Path) -> list[tuple[str, dict[str, np.ndarray]]]:
    """What a host says of each call, and the arrays afterwards."""
    calls = []
    for number, case in enumerate(cases):
        own = folder / str(number)
        own.mkdir()
        (own / "kernel.json").write_text(case.description)
        for name, array in case.buffers.items():
            (own / name).write_bytes(array.tobytes())
        given = [f"{name}={n}" for name, n in case.numbers.items()] + [f"{name}={own / name}" for name in case.buffers]
        calls.append([str(own / "kernel.json"), case.name, *given])
    found = []
    for number, (case, said) in enumerate(zip(cases, host(calls), strict=True)):
        bytes_of = {key: (folder / str(number) / key).read_bytes() for key in case.buffers}
        out = {k: np.frombuffer(bytes_of[k], x.dtype).reshape(x.shape) for k, x in case.buffers.items()}
        found.append((said, out))
    return found


def test_a_device_is_without_what_it_shall_not_have(device: None) -> None:
    opened = open_device(without=["subgroups"])
    assert not {name for name in opened.features if name.startswith("subgroups")}
    assert opened.features == default_device().features - {"subgroups", "subgroup-barrier"}
    opened.close()
    with pytest.raises(DeviceError, match="there is no 'warps'"):
        open_device(without=["warps"])


@pytest.mark.parametrize("language", ["python", "c"])
def test_a_host_launches_what_python_does(device: None, language: str, host: Host, tmp_path: Path) -> None:
    cases = [case for name in NAMES for case in sized(name, 2)]
    for case, (said, out) in zip(cases, launched(host, cases, tmp_path), strict=True):
        assert said == "", case.name
        for key, want in case.wanted.items():
            same(out[key], want)


@pytest.mark.parametrize("language", ["python", "c"])
def test_a_host_refuses_and_writes_nothing(device: None, language: str, host: Host, tmp_path: Path) -> None:
    (case, *_) = sized("transpose", 1)
    packed = replace(case, numbers={name: n for name, n in case.numbers.items() if "." not in name})
    x, longer = case.buffers["x"], np.zeros(case.buffers["x"].size + 4, np.float32)
    wrong = [
        (case.changed({"M": 0}), "M"),
        (case.changed({"x.offset": 64}), ": x" if language == "c" else ": x has "),
        (case.changed({"y.stride[0]": 1}), "y overlaps itself"),
        (packed.changed({"z": 3}), "it takes no z"),
        (packed.changed({"M": 19.5}), "19.5"),
        (replace(packed, buffers={**packed.buffers, "z": x}), "it takes no z"),
        (
            replace(packed, buffers={**packed.buffers, "x": longer}),
            "x" if language == "c" else f"x has {longer.nbytes} bytes, it takes {x.nbytes}",
        ),
    ]
    # A file of strides that a call gives may be longer.
    right = [packed, replace(case, buffers={**case.buffers, "x": np.append(x, longer)})]
    found = launched(host, [*(one for one, _ in wrong), *right], tmp_path)
    for (one, said), (answer, out) in zip(wrong, found[: len(wrong)], strict=True):
        assert answer.startswith(f"{case.name}: ") and said in answer
        assert all(np.array_equal(out[key], array) for key, array in one.buffers.items())
    for answer, out in found[len(wrong) :]:
        assert answer == "" and np.array_equal(out["y"], case.wanted["y"])


RUST = """
mod plan;
use std::io::BufRead;
fn main() {
    for line in std::io::stdin().lock().lines() {
        let job: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        let function = &job["function"];
        let one = plan::variant(function, &["subgroups", "shader-f16"], 8).unwrap();
        match plan::plan(function, one, job["numbers"].as_object().unwrap()) {
            Ok(found) => {
                let launches: Vec<_> = found.launches.iter().map(|l|
                    serde_json::json!([l.text, l.entry, l.grid, l.params, l.buffers, l.access])).collect();
                println!("{}", serde_json::json!([found.bytes, launches]));
            }
            Err(why) => println!("{}", serde_json::json!(why)),
        }
    }
}
"""


@pytest.fixture(scope="module")
def in_rust(tmp_path_factory: pytest.TempPathFactory) -> str:
    """plan.rs with a program around it, built with the crates of Debian."""
    if shutil.which("cargo") is None or not any(CRATES.glob("serde_json-*")):
        pytest.skip("NOT TESTED: no cargo, or no serde_json to build with offline (apt install librust-serde-json-dev)")
    folder = tmp_path_factory.mktemp("rust")
    (folder / "src").mkdir()
    shutil.copy(HOSTS / "rust" / "src" / "plan.rs", folder / "src")
    (folder / "src" / "main.rs").write_text(RUST)
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "plans"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nserde_json = "1"\n'
    )
    (folder / ".cargo").mkdir()
    (folder / ".cargo" / "config.toml").write_text(
        f'[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "{CRATES}"\n'
    )
    built = subprocess.run(
        ["cargo", "build", "--offline", "--quiet"], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert built.returncode == 0, built.stderr[-3000:]
    return str(folder / "target" / "debug" / "plans")


def test_the_plan_in_rust_is_that_of_the_formulas(in_rust: str) -> None:
    jobs, wanted = [], []
    for name in NAMES:
        for case in sized(name, 3, computed=False):
            (function,) = json.loads(case.description)["functions"]
            jobs.append({"function": function, "numbers": case.numbers})
            wanted.append(planned(function, case.numbers))
    (case, *_) = sized("transpose", 1)
    (function,) = json.loads(case.description)["functions"]
    jobs.append({"function": function, "numbers": case.numbers | {"y.stride[0]": 1}})
    wanted.append("y overlaps itself")  # type: ignore[arg-type]
    lines = "".join(json.dumps(job) + "\n" for job in jobs)
    ran = subprocess.run([in_rust], input=lines, capture_output=True, text=True, timeout=100, check=True)
    assert [json.loads(line) for line in ran.stdout.splitlines()] == wanted


def test_the_host_in_rust_is_rust() -> None:
    if shutil.which("rustfmt") is None:
        pytest.skip("NOT TESTED: no rustfmt to read examples/hosts/rust with")
    flags = ["--check", "--edition", "2021", "--config", "max_width=120,use_small_heuristics=Max"]
    files = [HOSTS / "rust" / "src" / name for name in ("main.rs", "plan.rs")]
    subprocess.run(["rustfmt", *flags, *files], check=True, timeout=100)


def test_the_host_in_rust_launches_what_python_does(device: None, tmp_path: Path) -> None:
    shutil.copytree(HOSTS / "rust", tmp_path / "rust")
    built = subprocess.run(
        ["cargo", "build", "--offline", "--quiet"] if shutil.which("cargo") else ["false"],
        cwd=tmp_path / "rust", capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    if built.returncode != 0 and ("no matching package" in built.stderr or not built.stderr):
        pytest.skip(
            "NOT TESTED: the crates wgpu and pollster are not here (crates.io); main.rs is read by rustfmt alone"
        )
    assert built.returncode == 0, built.stderr[-3000:]
    cases = list(sized("softmax", 2))
    host = partial(by_command, str(tmp_path / "rust" / "target" / "debug" / "host"))
    for case, (said, out) in zip(cases, launched(host, cases, tmp_path), strict=True):
        assert said == ""
        for key, want in case.wanted.items():
            same(out[key], want)
