"""Faults planted in `cutepy/layout`, each with the test that must notice it: `layout_mutants.py [FIRST LAST]`."""

from __future__ import annotations

import sys

from mutate import Mutant, run

BITS, FIND = "tests/layout/test_bit_map.py", "tests/layout/test_find.py"
COMPOSED = "tests/layout/test_composed.py"
NOTATION, PRINTS = "tests/layout/test_notation.py", "tests/layout/test_tools_print.py"


def law(name: str) -> str:
    return f"{COMPOSED}::test_every_operation_is_exact_or_refused[{name}]"


def layout(old: str, new: str, test: str) -> Mutant:
    return Mutant("cutepy/layout", old, new, test)


WORKED = COMPOSED + "::test_worked_results"
REFUSED = COMPOSED + "::test_what_is_refused_says_why"

MUTANTS = [
    # those that once went unnoticed
    layout(
        "return _follows(poly, dict(lows), at_least, 3)",
        "return _follows(poly, dict(lows), at_least, 1)",
        "tests/layout/test_symbolic.py::test_a_chain_of_facts_is_followed_three_steps_and_no_further",
    ),
    layout("[(abs(step), leaf) for", "[(step, leaf) for", law("make_layout_like")),
    Mutant(
        "cutepy/layout/algebra/bits.py",
        "cost = (swizzle.bits, len(leaves(inner.shape)), abs",
        "cost = (swizzle.bits, abs",
        "tests/layout/test_from_table.py::test_of_two_swizzles_with_as_many_bits_the_one_of_fewest_modes",
    ),
    layout(
        'yield ExplainStep(f"From {filled} on, {copies} copies reach {target}, a mode',
        'yield ExplainStep("") or ExplainStep(f"From {filled} on, {copies} copies reach {target}, a mode',
        "tests/layout/test_explain.py::test_the_story_of_a_complement_is_told_to_its_end",
    ),
    # operations on composed layouts
    layout(
        "return layout.with_inner(inner)",
        "return inner",
        law("flatten"),
    ),
    layout(
        "return type(operand) not in (ComposedLayout, Swizzle, BitMap) and (",
        "return (",
        WORKED,
    ),
    layout(
        "return 0 <= least and most < outer.size",
        "return 0 <= least and most <= outer.size",
        COMPOSED + "::test_a_layout_outside_is_composed_up_to_its_last_coordinate",
    ),
    layout(
        "return 0 <= least and most < outer.size",
        "return most < outer.size",
        COMPOSED + "::test_a_layout_outside_is_composed_up_to_its_last_coordinate",
    ),
    layout(
        "Swizzle(self.bits, self.base + _checked_zoom(self, zoom), self.shift)",
        "Swizzle(self.bits, self.base, self.shift)",
        "tests/layout/test_swizzled.py::test_composition_on_either_side",
    ),
    layout(
        "ComposedLayout(inner.outer.zoomed(zoom), inner.offset * step, _times",
        "ComposedLayout(inner.outer.zoomed(zoom), inner.offset, _times",
        "tests/layout/test_swizzled.py::test_composition_on_either_side",
    ),
    layout(
        "if bottom >= 0 and top < swizzle.lowest:",
        "if bottom >= 0 and top < 2 * swizzle.lowest:",
        COMPOSED + "::test_cosize_of_offsets_up_to_the_first_that_moves",
    ),
    layout("if bottom >= 0 and top <", "if top <", COMPOSED + "::test_cosize_of_offsets_below_0"),
    layout("swizzle.zoomed(zoom if finer else -zoom)", "swizzle", WORKED),
    layout("masks.get(shift, 0) | 1 << bit", "1 << bit", BITS + "::test_what_a_map_of_bits_is"),
    layout(
        "shift = bit - low.bit_length() + 1", "shift = bit - low.bit_length()", BITS + "::test_what_a_map_of_bits_is"
    ),
    layout(
        "columns[-1] == 1 << len(columns) - 1 and max(columns[:-1], default=0) < columns[-1]",
        "columns[-1] == 1 << len(columns) - 1",
        BITS + "::test_every_matrix_is_said_composed_inverted_printed_and_read",
    ),
    layout("ones.append(int(at == bit))", "ones.append(1)", FIND + "::test_random_accesses"),
    layout(
        "for value in [*fresh, *sorted(range(1 << used)",
        "for value in [*sorted(range(used)",
        FIND + "::test_three_accesses_of_a_small_tile_against_every_layout",
    ),
    layout("if not finer and swizzle.base < zoom:", "if not finer and swizzle.base + 1 < zoom:", REFUSED),
    layout("if not finer and offset % count:", "if finer and offset % count:", law("upcast")),
    layout("return offset * count if finer else offset // count", "return offset", law("downcast")),
    layout(
        "not stride or stride[0] != 1 or not (finer or whole)",
        "not stride or stride[0] != 1",
        REFUSED,
    ),
    layout("not stride or stride[0] != 1 or not", "not stride or not", law("downcast")),
    layout("shrinking.add(path_of(step))", "shrinking.add(())", REFUSED),
    layout("if len(carriers) > 1 and count > 1:", "if len(carriers) > 2 and count > 1:", law("downcast")),
    layout(
        "return 1 << next((bit for bit, column in enumerate(columns) if column != 1 << bit), len(columns))",
        "return 1 << len(columns)",
        law("max_common_vector"),
    ),
    layout("    if length == 0:\n", "    if length < 0:\n", law("max_common_layout")),
    # evaluation, questions, slices, basis strides
    layout("(*outer_input, *[0] * (outer.rank - len(outer_input)))", "outer_input", law("evaluation")),
    layout(
        "return ComposedLayout(self.outer, moved(self.offset, by), kept)",
        "return ComposedLayout(self.outer, by, kept)",
        law("slice_and_offset"),
    ),
    layout("greatest_number(self) >= 1 << 62:", "greatest_number(self) >= 1 << 70:", REFUSED),
    layout("axes[path_of(step)] = axes.get(path_of(step), 1) +", "axes[path_of(step)] = 1 +", law("cosize")),
    layout("layout.size > LARGEST_ARRAY or layout.cosize >= 1 << 62", "layout.size > LARGEST_ARRAY", REFUSED),
    layout("axes.setdefault(path_of(step), [])", "axes.setdefault((), [])", law("is_injective")),
    layout("layout.cosize == 1 << Image(columns).rank", "layout.cosize == layout.size", law("is_surjective")),
    layout(
        "far != near and far[: len(near)] == near",
        "far != near and not near",
        COMPOSED + "::test_an_axis_and_its_own_sub_axes_do_not_add_up",
    ),
    layout(" if step != 0}\n", "}\n", COMPOSED + "::test_an_axis_and_its_own_sub_axes_do_not_add_up"),
    layout(
        "return as_stride(terms[0].value, terms[0].path) if len(terms) == 1 else 0",
        "return as_stride(terms[0].value, terms[0].path)",
        WORKED,
    ),
    layout(
        "if whole.size != layout.size or not is_bijective(whole):",
        "if not is_bijective(whole):",
        REFUSED,
    ),
    layout(
        "return even and right.size *",
        "return right.size *",
        COMPOSED + "::test_evenly_divides_is_what_a_divide_asks",
    ),
    layout(
        "if layout.cosize > 512:",
        "if layout.cosize > 16:",
        COMPOSED + "::test_a_search_that_ends_early_says_so",
    ),
    layout(
        'raise SearchEnded(f"radix systems and choices among coordinates beyond the first {CHOICES}")',
        "return None",
        COMPOSED + "::test_a_search_that_ends_early_says_so",
    ),
    # labels, origins
    layout(
        "return value.name not in _NUMBERS",
        "return True",
        NOTATION + "::test_a_name_before_a_stride_is_a_size",
    ),
    layout(
        'return isinstance(value, tuple) and self.tokens.sees("o")',
        "return False",
        PRINTS + "::test_a_print_is_read_as_its_layout",
    ),
    layout(
        "offset == 0 and (chain is not None or link is parts[-2])",
        "offset == 0",
        NOTATION + "::test_errors_point_at_the_column",
    ),
    layout(
        "map_leaves(lambda top: top + 1, last_place)",
        "map_leaves(lambda top: top + 2, last_place)",
        PRINTS + "::test_a_print_is_read_as_its_layout",
    ),
]

if __name__ == "__main__":
    sys.exit(run(MUTANTS, *map(int, sys.argv[1:3])))
