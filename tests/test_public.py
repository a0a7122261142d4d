"""The public names: all that docs/design.md promises, each with a docstring that says its law and shows it running."""

from __future__ import annotations

import ast
import doctest
import inspect
import pickle
import pydoc
import subprocess
import sys
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import cutepy
from cutepy.lazy import LazyFunction

PROMISED = """
Layout make_layout make_ordered_layout make_layout_like make_identity_layout LayoutLeft LayoutRight E Swizzle
ComposedLayout make_composed_layout _
size cosize coshape coprofile rank depth shape stride congruent weakly_congruent compatible evenly_divides is_injective
is_surjective is_bijective is_contiguous
crd2idx idx2crd crd2crd increment_coord slice_ dice slice_and_offset domain_offset
get select take group_modes flatten unflatten append prepend replace filter filter_zeros coalesce
composition complement right_inverse left_inverse nullspace max_common_layout max_common_vector logical_divide
zipped_divide tiled_divide flat_divide logical_product zipped_product tiled_product flat_product blocked_product
raked_product tile_to_shape recast_layout upcast downcast ceil_div shape_div round_up
explain bank_conflicts transactions conflict_free widest_copy convert who_owns touched_by vectorised
make_tensor make_tensor_like make_fragment_like make_identity_tensor make_gmem_ptr make_smem_ptr make_rmem_ptr
local_tile local_partition inner_partition outer_partition make_layout_tv make_tiled_copy make_tiled_mma
copy copy_if fill clear axpby gemm transform reduce recast
draw
""".split()
ON_GPU = "adapters default_device array kernel pointwise copy".split()
IN_OPS = "matmul sum max min mean prod argmax argmin softmax".split()


def public_objects() -> list[tuple[str, object]]:
    found = [(name, getattr(cutepy, name)) for name in PROMISED if hasattr(cutepy, name)]
    found += [(f"gpu.{name}", getattr(cutepy.gpu, name)) for name in ON_GPU if hasattr(cutepy.gpu, name)]
    found += [(f"ops.{name}", getattr(cutepy.ops, name)) for name in IN_OPS if hasattr(cutepy.ops, name)]
    return [(name, thing) for name, thing in found if callable(thing) and not isinstance(thing, Enum)]


def test_every_promised_name_is_there():
    missing = [name for name in PROMISED if not hasattr(cutepy, name)]
    missing += [f"gpu.{name}" for name in ON_GPU if not hasattr(cutepy.gpu, name)]
    missing += [f"ops.{name}" for name in IN_OPS if not hasattr(cutepy.ops, name)]
    assert missing == []
    assert set(PROMISED) <= set(cutepy.__all__)


@pytest.mark.parametrize(("name", "thing"), public_objects(), ids=lambda value: value if isinstance(value, str) else "")
def test_every_name_says_what_it_does_and_shows_it(name, thing):
    documented = thing.draw if inspect.ismodule(thing) else thing
    text = inspect.getdoc(documented) or ""
    assert len(text) > 20, name
    examples = doctest.DocTestParser().get_examples(text)
    assert examples, f"{name} has no example that runs"


def test_a_star_import_brings_them_all():
    code = "from cutepy import *; print(composition(Layout((4, 2)), Layout(2, 4)), _, draw, ops.matmul is not None)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2:4 _ ")


def test_a_star_import_of_every_package_works():
    packages = "cutepy.layout cutepy.tensor cutepy.gpu cutepy.ops cutepy.draw cutepy.mesh cutepy.explore".split()
    for package in packages:
        names: dict[str, object] = {}
        exec(f"from {package} import *", names)
        assert set(getattr(import_module(package), "__all__", ())) <= set(names)


def test_a_star_import_loads_nothing_heavy():
    searches = "banks conflict_free convert copies copy_search f2_bank_rows thread_values".split()
    rooms = [f"cutepy.layout.algebra.{name}" for name in searches] + ["cutepy.layout.text.parse"]
    assert all(find_spec(room) for room in rooms)
    heavy = {"numpy", "sympy", "wgpu", "cutepy.gpu", "cutepy.draw", "cutepy.layout.text.explain", *rooms}
    code = f"from cutepy import *; import sys; print(*{heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def type_checking_imports(package):
    """What a package imports for type checkers, which editors follow: each name with its module."""
    tree = ast.parse(Path(package.__file__).read_text())
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for line in node.body:
                module = f"{package.__name__}.{line.module}" if line.module else package.__name__
                yield from ((alias.name, import_module(module)) for alias in line.names)


@pytest.mark.parametrize("package", ["cutepy", "cutepy.layout", "cutepy.explore", "cutepy.gpu"])
def test_a_lazy_name_is_what_type_checkers_take_it_for(package):
    package = import_module(package)
    lazy = dict(type_checking_imports(package))
    assert len(lazy) >= 2 and set(lazy) <= {*package.__all__}
    for name, module in lazy.items():
        here, there = getattr(package, name), getattr(module, name)
        assert inspect.unwrap(here) is inspect.unwrap(there) or here.__name__ in (there.__name__, "cutepy.draw")


def test_all_is_what_there_is():
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "cutepy" and hasattr(module, "__all__"):
            assert len(module.__all__) == len(set(module.__all__))
            for public in module.__all__:
                assert hasattr(module, public), (name, public)


def test_a_lazy_function_says_of_itself_what_its_definition_says():
    lazy = {name: it for name, it in vars(cutepy.layout).items() if type(it) is LazyFunction}
    assert len(lazy) > 10
    for name, question in lazy.items():
        answers = question.__wrapped__
        assert inspect.signature(question) == inspect.signature(answers) and question.__doc__ == answers.__doc__
        assert question.__name__ == name and inspect.unwrap(question) is inspect.unwrap(answers)
        assert inspect.unwrap(pickle.loads(pickle.dumps(question))) is inspect.unwrap(answers) and repr(
            question
        ) == repr(answers)
        told, known = (pydoc.render_doc(one).partition("\n")[2] for one in (question, answers))
        assert told == known


def test_a_module_that_is_loaded_late_is_that_module():
    code = """
from cutepy import *
import pydoc
late = draw, gpu, ops
assert "A picture of" in pydoc.render_doc(draw)
assert draw("(2,2)").figure.cells == 4 and draw.Style is __import__("cutepy.draw").draw.Style
assert "barrier" in dir(gpu) and "matmul" in dir(ops) and callable(gpu.kernel) and ops.__name__ == "cutepy.ops"
import cutepy.gpu
gpu.marked = 3
assert cutepy.gpu.marked == 3
try:
    gpu.nothing_of_the_kind
except AttributeError:
    print("fine")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "fine\n", done.stderr


def test_dir_shows_what_users_call_and_no_workshop():
    import cutepy.draw
    import cutepy.gpu
    import cutepy.ops

    for module, rooms in (
        (cutepy, {"draw", "errors", "gpu", "layout", "ops", "tensor"}),
        (cutepy.gpu, set()),
        (cutepy.ops, set()),
    ):
        shown = {name for name in dir(module) if name[:2] != "__"}
        workshop = {name for name in vars(module) if inspect.ismodule(vars(module)[name])} - rooms
        assert len(shown) > 40 and rooms <= shown and not shown & {*workshop, "TYPE_CHECKING", "Any", "Callable"}
        assert all(name[0] != "_" or name == "_" for name in shown)


def test_a_notebook_shows_the_lines_of_the_caller_alone():
    def asked():
        return cutepy.composition(cutepy.Layout((6, 2), (1, 7)), cutepy.Layout((3, 2), (2, 3)))

    with pytest.raises(cutepy.CompositionError) as caught:
        asked()
    shown = caught.value._render_traceback_()
    assert [line.rpartition(", line ")[0] for line in shown[:-1]] == [__file__, __file__]
    assert "return cutepy.composition" in shown[1] and shown[-1].endswith(str(caught.value))


def test_a_fault_of_its_own_is_shown_whole():
    with pytest.raises(TypeError):  # what makes IPython show all lines
        cutepy.errors.InternalError("x")._render_traceback_()
