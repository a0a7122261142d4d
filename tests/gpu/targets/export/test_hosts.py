"""The hosts of examples/hosts launch exported kernels as the interpreter does: Python's wgpu, wgpu-native from C; of
Rust's the part that needs no crate but serde_json is held to the formulas.

What is not to be had is named: a device, a C compiler with cJSON and wgpu's headers, cargo with serde_json, the crate.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from host_cases import Case, planned, same, sized

from cutepy.errors import DeviceError
from cutepy.gpu import default_device, open_device

HOSTS = Path(__file__).parents[4] / "examples" / "hosts"
NAMES = ("saxpy", "softmax", "transpose", "matmul", "attention", "own gather")
CRATES = Path("/usr/share/cargo/registry")


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
def in_c(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
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
    return [str(made)]


@pytest.fixture(scope="module")
def in_python() -> list[str]:
    return [sys.executable, str(HOSTS / "host.py")]


def launched(host: list[str], case: Case, folder: Path) -> tuple[str, dict[str, np.ndarray]]:
    """What a host says, and the arrays afterwards."""
    (folder / "kernel.json").write_text(case.description)
    given = [f"{name}={n}" for name, n in case.numbers.items()]
    for name, array in case.buffers.items():
        (folder / name).write_bytes(array.tobytes())
        given.append(f"{name}={folder / name}")
    # Without cutepy: the host finds nothing of this repository.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    run = subprocess.run(
        [*host, folder / "kernel.json", case.name, *given],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    out = {k: np.frombuffer((folder / k).read_bytes(), x.dtype).reshape(x.shape) for k, x in case.buffers.items()}
    return ("" if run.returncode == 0 else run.stderr.splitlines()[-1] if run.stderr else "?"), out


def test_a_device_is_without_what_it_shall_not_have(device: None) -> None:
    opened = open_device(without=["subgroups"])
    assert not {name for name in opened.features if name.startswith("subgroups")}
    assert opened.features == default_device().features - {"subgroups", "subgroup-barrier"}
    opened.close()
    with pytest.raises(DeviceError, match="there is no 'warps'"):
        open_device(without=["warps"])


@pytest.mark.parametrize("language", ["in_python", "in_c"])
@pytest.mark.parametrize("name", NAMES)
def test_a_host_launches_what_python_does(
    device: None, language: str, name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    host = request.getfixturevalue(language)
    for case in sized(name, 2):
        said, out = launched(host, case, tmp_path)
        assert said == ""
        for key, want in case.wanted.items():
            same(out[key], want)


@pytest.mark.parametrize("language", ["in_python", "in_c"])
def test_a_host_refuses_and_writes_nothing(
    device: None, language: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    host = request.getfixturevalue(language)
    (case, *_) = sized("transpose", 1)
    wrong = [
        ({"M": 0}, "M"),
        ({"x.offset": 64}, ": x" if language == "in_c" else ": x has "),
        ({"y.stride[0]": 1}, "y overlaps itself"),
    ]
    changed = [(case.changed(change), said) for change, said in wrong]
    packed = replace(case, numbers={name: n for name, n in case.numbers.items() if "." not in name})
    x, longer = case.buffers["x"], np.zeros(case.buffers["x"].size + 4, np.float32)
    too_large = "x" if language == "in_c" else f"x has {longer.nbytes} bytes, it takes {x.nbytes}"
    changed += [
        (packed.changed({"z": 3}), "it takes no z"),
        (packed.changed({"M": 19.5}), "19.5"),
        (replace(packed, buffers={**packed.buffers, "z": x}), "it takes no z"),
        (replace(packed, buffers={**packed.buffers, "x": longer}), too_large),
    ]
    for one, said in changed:
        found, out = launched(host, one, tmp_path)
        assert found.startswith(f"{case.name}: ") and said in found
        assert all(np.array_equal(out[key], array) for key, array in one.buffers.items())
    for one in (packed, replace(case, buffers={**case.buffers, "x": np.append(x, longer)})):
        said, out = launched(host, one, tmp_path)  # a file of strides that a call gives may be longer
        assert said == "" and np.array_equal(out["y"], case.wanted["y"])


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
        for case in sized(name, 3):
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
    for case in sized("softmax", 2):
        said, out = launched([str(tmp_path / "rust" / "target" / "debug" / "host")], case, tmp_path)
        assert said == ""
        for key, want in case.wanted.items():
            same(out[key], want)
