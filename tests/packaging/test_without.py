"""The core with numpy, sympy and wgpu blocked: layouts, their algebra, explanations, pictures, commands, docs hooks.

They are requirements all the same: tensors, kernels and long tables of offsets need them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from explore.questions import expressions

ROOT = Path(__file__).parents[2]
BLOCK = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import block"
ALGEBRA = """
from cutepy import *
from cutepy import Layout, Swizzle, bank_conflicts, transactions
L = Layout.parse("((_4,_8),(_2,_2)):((_32,_1),(_16,_8))")
source = "make_layout(make_shape(4, 8), make_stride(8, 1))"
for text in ("Layout<Shape<_4,_8>,Stride<_8,_1>>{}", source, "Layout((4, 8),(8, 1))"):
    assert str(Layout.parse(text)) == "(4,8):(8,1)"
assert L(5, 3) == 57 and is_bijective(L) and L.cosize == 128
A, B = Layout((4, 8), (8, 1)), Layout((2, 3), (3, 1))
assert str(coalesce(Layout((2, (1, 6)), (1, (6, 2))))) == "12:1"
assert str(composition(Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1)))) == "((2,2),3):((24,2),8)"
assert str(composition(Layout((6, 4), (1, 8)), Layout((2, 2), (4, 6)))) == "(2,2):(4,8)"
assert str(right_inverse(Layout((4, 3), (1, 2)))) == "(4,2):(1,8)"
assert str(complement(Layout((2, 2), (1, 4)), 16)) == "(2,2):(2,8)"
assert str(right_inverse(A)) == "(8,4):(4,1)" and str(left_inverse(Layout((4, 8), (1, 5)))) == "(5,8):(1,4)"
for operation in (logical_divide, zipped_divide, tiled_divide, flat_divide):
    assert operation(A, (2, 4)).size == 32 and "checked" in str(explain(operation, Layout(24), Layout(4, 2)))
for operation in (logical_product, zipped_product, tiled_product, flat_product, blocked_product, raked_product):
    assert operation(Layout((2, 2)), B).size == 24
swizzled = make_composed_layout(Swizzle(3, 0, 3), 0, Layout((8, 8), (8, 1)))
assert swizzled(2, 1) == 19 and swizzled.cosize == 64 and str(slice_and_offset((_, 1), A)[0]) == "(4):(8)"
assert bank_conflicts(swizzled, banks=8).ways == 1 and bank_conflicts(Layout((8, 8), (8, 1)), banks=8).ways == 8
assert transactions(Layout(32, 8)).count == 32
carries = "composition(Layout((6, 2), (1, 7)), Layout((3, 2), (2, 3)))"
uneven, typo = "zipped_divide(Layout((10, 8)), (4, 4))", "Layout.parse('(4,8:(8,1)')"
for call in (carries, uneven, typo, "Layout((4, 8), (8, 1))(9, 9, 9)"):
    try:
        eval(call)
    except CutepyError:
        continue
    raise AssertionError(call)
"""
PICTURES = """
from cutepy.docs import fence
from cutepy.draw import drawing_of
for text, options in (
    ("(4,8):(8,1)", {}), ("(4,8):(8,1)", {"view": "memory"}), ("((4,2),8):((1,16),4)", {"view": "tree"}),
    ("(4,8):(8,1)", {"view": "tiles (2,4)"}), ("((4,8),(2,2)):((32,1),(16,8))", {"over": "(16,8)"}),
    ("S<3,0,3> o 0 o (8,8):(8,1)", {"view": "banks"}), ("S<2,0,2> o 0 o (4,4):(4,1)", {"view": "swizzle"}),
    ("zipped_divide((4,8):(8,1), (2,4))", {"view": "steps"}), ("(1000,1000):(1000,1)", {"limit": "64"}),
):
    drawing = drawing_of(text, options)
    assert drawing.svg().startswith("<svg") and drawing.text() and drawing.tikz() and drawing.html()
assert fence("(2,2):(2,1)", "layout", "layout", {}, None).startswith("<figure")
from cutepy.pandoc import pictures
block = {"t": "CodeBlock", "c": [["", ["layout"], []], "(2,2):(2,1)"]}
assert [pictures([block], to)[0]["t"] for to in ("html", "latex", "plain")] == ["RawBlock", "RawBlock", "CodeBlock"]
"""
COMMANDS = """
from contextlib import redirect_stdout
from io import StringIO
from cutepy.cli import main
page = "```layout\\n(4,8):(8,1)\\nfile: x.svg\\n```\\n"
open("page.md", "w").write(page)
with redirect_stdout(StringIO()) as out:
    for command in (
        ["print", "(4,8):(8,1)"], ["print", "(4,8):(8,1)", "--to", "cpp"], ["draw", "(4,8):(8,1)", "-o", "x.tex"],
        ["explain", "zipped_divide((8,12):(12,1), (4,3))"], ["figures", "page.md"], ["figures", "page.md", "--check"],
    ):
        assert main(command) == 0, command
assert "0 stale" in out.getvalue()
from contextlib import redirect_stderr
for command in (["adapters"], ["verify", "x.py:k"], ["matmul", "a.npy", "b.npy"]):
    with redirect_stderr(StringIO()) as said:
        assert main(command) == 2
    wanted = f"cutepy {command[0]}: it needs the package numpy, and that is not here: pip install numpy"
    assert said.getvalue().splitlines() == [wanted]
"""


NAMES = """
from cutepy import Layout, NotationError
for text, column in (("(4,M):(8,1)", 3), ("Layout((4, 8), (N, 1))", 16), ("make_layout((?, 4))", 13), ("(4*K,8)", 3)):
    try:
        Layout.parse(text)
    except NotationError as error:
        assert error.column == column and "a size known later, which needs the package sympy" in str(error), error
    else:
        raise AssertionError(text)
assert str(Layout.parse("(16/4,8):(8,1)")) == "(4,8):(8,1)"
"""
EXPRESSIONS = """
from cutepy.explore.answers import answer
for question in open("questions.txt"):
    assert "not in this page" not in answer(question), question
"""


def test_random_expressions_are_answered(tmp_path: Path) -> None:
    """What the explorer's page is asked, where these packages are not there."""
    questions = (json.dumps({"ask": "look", "text": text}) for text in expressions("without", 300))
    (tmp_path / "questions.txt").write_text("\n".join(questions))
    test_it_runs(EXPRESSIONS, tmp_path)


ROOMS = {
    "layout": sorted(
        path.name for path in (ROOT / "tests" / "layout").glob("test_*.py") if path.name != "test_operation.py"
    ),
    "draw": [f"test_{name}.py" for name in ("hostile", "palette", "text", "views")],
    "cli": ["test_figures.py"],
    "docs_hooks": [f"test_{name}.py" for name in ("bad_input", "fence")],
    "explore": ["test_answers.py", "test_pack.py"],
}
"""The tests of what runs without these packages. Pictures are made of NumPy's arrays in tests/draw's other files, some
commands run kernels, and `test_builds` builds with tools that bring their own packages. A Python that a test starts is
not blocked: `test_operation` and `test_pandoc` do nothing else."""

NEED = {
    "layout": """
        test_bad_input.py
        test_banks.py::test_what_cannot_be_counted_is_refused
        test_bit_map.py
        test_bounded.py::test_hard_inputs_are_answered_or_refused
        test_composed.py
        test_conformance.py::test_cute_gives_the_same_of_other_operations
        test_convert.py::test_a_swizzled_layout_needs_selects_alone
        test_convert.py::test_a_tile_too_large_for_memory_is_shuffled
        test_convert.py::test_across_subgroups_it_goes_through_memory
        test_convert.py::test_all_pairs_of_fragments
        test_convert.py::test_an_accumulator_becomes_an_operand
        test_convert.py::test_bad_input
        test_convert.py::test_bytes_go_through_memory_where_that_takes_fewer_rounds
        test_convert.py::test_random_pairs
        test_convert.py::test_the_published_count_for_transpositions
        test_copies.py::test_a_tile_whose_rows_are_no_powers_of_two_is_taken_as_memory_has_it
        test_copies.py::test_bad_input
        test_copies.py::test_no_layout_of_a_small_tile_is_wider_or_takes_less
        test_copies.py::test_random_copies
        test_copies.py::test_registers_of_matrix_instructions
        test_copies.py::test_what_a_swizzle_moves_is_taken_as_memory_has_it
        test_copies.py::test_where_no_order_of_memory_is_a_layout_it_is_said_what_was_tried
        test_exactness.py::test_the_judges_know_layouts_from_other_functions
        test_expression.py::test_a_size_may_be_called_x
        test_expression.py::test_calls_around_every_notation_mean_what_python_makes_of_them
        test_expression.py::test_each_unknown_of_a_text_is_another
        test_expression.py::test_sizes_that_a_type_does_not_know_are_different_unknowns
        test_expression.py::test_what_print_writes_print_and_explain_read
        test_find.py::test_bad_input
        test_followed.py
        test_from_table.py::test_a_large_table_is_quick
        test_from_table.py::test_a_layout_with_an_offset
        test_from_table.py::test_every_layout_is_found_and_shortest
        test_from_table.py::test_of_two_swizzles_with_as_many_bits_the_one_of_fewest_modes
        test_from_table.py::test_refusal_of_a_table_of_two_axes
        test_from_table.py::test_refusals_are_right
        test_from_table.py::test_strides_of_arrays
        test_from_table.py::test_swizzled_layouts_are_found
        test_from_table.py::test_what_is_no_table
        test_int_tuples.py::test_a_coordinate_may_be_the_offset_of_a_composed_layout
        test_inverse.py::test_a_long_mode_of_stride_0_takes_nothing_from_a_right_inverse
        test_inverse.py::test_inverses_of_coordinates_are_those_of_each_axis_beside_the_others
        test_inverse.py::test_left_inverse_inverts
        test_inverse.py::test_left_inverse_is_returned_whenever_there_is_one
        test_inverse.py::test_right_inverse_is_as_large_as_possible
        test_lines.py::test_a_refusal_about_unknown_sizes_has_calls_with_numbers_that_work
        test_notation.py::test_a_keyword_of_a_call_counts_or_is_refused
        test_notation.py::test_a_name_before_a_stride_is_a_size
        test_notation.py::test_reading_inverts_writing
        test_notation.py::test_unknown_sizes
        test_public_guard.py
        test_questions.py::test_the_order_makes_accesses_as_wide_as_told_and_none_wider
        test_sites.py
        test_swizzled.py::test_evaluation_offsets_and_cosize
        test_swizzled.py::test_f2_of_numpy_and_of_a_random_matrix
        test_symbolic.py
        test_tuple_laws.py
    """,
    "draw": """
        test_views.py::test_a_colour_or_a_label_that_is_asked_for_counts_or_is_refused
        test_views.py::test_unknown_sizes_are_drawn_at_the_ends_of_their_modes
        test_views.py::test_what_has_a_picture_shows_it_and_the_rest_its_text
    """,
    "cli": "",
    "docs_hooks": "",
    "explore": """
        test_answers.py::test_a_better_layout_is_sought_for_known_sizes_and_elements_of_their_own
        test_answers.py::test_random_expressions_are_answered_as_python_answers
        test_answers.py::test_what_is_proposed_is_what_it_is_called
        test_answers.py::test_where_no_swizzle_does_it_an_order_of_the_modes_may
        test_pack.py::test_the_kernels_of_the_page_need_no_npm_to_be_described
    """,
}
"""What asks for one of them all the same: sizes known later are SymPy's, tables, arrays and kernels NumPy's."""


@pytest.mark.parametrize("room", ROOMS)
def test_tests_of_the_core_pass(room: str) -> None:
    """All but those that ask for a package: these are the ones above, no more and no fewer.

    Of each law a few cases: what it is asked here is not whether it holds but whether it needs a package.
    """
    files = [str(ROOT / "tests" / room / name) for name in ROOMS[room]]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "blocked", "-p", "no:cacheprovider", *files],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{Path(__file__).parent}", "CUTEPY_CASES": "75"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout
    assert sorted(json.loads(done.stdout.splitlines()[-1])) == sorted(NEED[room].split())


@pytest.mark.parametrize(
    "program", [ALGEBRA, PICTURES, COMMANDS, NAMES], ids=["algebra", "pictures", "commands", "names"]
)
def test_it_runs(program: str, tmp_path: Path) -> None:
    checked = f"{BLOCK}{program}\nassert not {{'numpy', 'sympy', 'wgpu'}} & set(sys.modules)\n"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{checked}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
