# ruff: noqa: E501  the texts are those of the tree
"""Faults in the compiler's own proofs, each of which a test must notice.

    python tools/fuzz/self_mutants.py [FIRST LAST]

A fault is (file or folder, text, other text, pytest target). With numbers, the faults from FIRST to before LAST.
"""

import sys

from mutate import Mutant, run

PROOFS = "tests/gpu/test_proofs.py"
VALUES = "tests/gpu/test_simplify.py"
VERDICTS = "tests/gpu/test_verify.py"
WILD = f"{VERDICTS}::test_verdicts_on_wild_kernels_are_true"
AFFINE, RANGES, SIMPLIFY = "cutepy/layout/affine.py", "cutepy/gpu/ir/ranges.py", "cutepy/gpu/ir/simplify.py"
GPU, ALIGNMENT, TENSOR = "cutepy/gpu", "cutepy/gpu/verify/alignment.py", "cutepy/tensor/tensor.py"
ALIGNED, SIZES, SHAPES = (f"tests/gpu/verify/test_{name}.py" for name in ("alignment", "subgroup_size", "shapes"))
UNKNOWN, REQUIRED = (f"tests/gpu/trace/test_{name}_sizes.py" for name in ("unknown", "required"))

FAULTS = [
    # The eleven of the review that went unnoticed, where they are now (those of `layout` are in layout_mutants.py).
    (RANGES, "return (a, b) if 0 <= a and b < c else", "return (a, b) if 0 <= a and b <= c else", PROOFS),
    (RANGES, "return (a // d if a >= 0", "return (a // c if a >= 0", PROOFS),
    (SIMPLIFY, "return quotient(y, int(d) * c)", "return quotient(y, int(d) + c)", PROOFS),
    (SIMPLIFY, 'joined if op == "&" else joined.plus', 'joined.plus(low.modulo()) if op == "&" else joined.plus', PROOFS),
    (GPU, "if not (write.loops & loops) or write.own.size == 1:", "if True:", PROOFS),
    (GPU, "or _window(family, lows) >= base:", "or _window(family, lows) > base:", PROOFS),
    # Sums.
    (AFFINE, "return least * WRAP if least == most else None", "return least * WRAP if least <= most else None", VALUES),
    (AFFINE, "-((hi - first) // WRAP), (last - lo) // WRAP", "-((hi - first) // WRAP), (last - hi) // WRAP", VALUES),
    (AFFINE, "lo, hi = (lo + c * a, hi + c * b) if c > 0", "lo, hi = (lo + c * a, hi + c * b) if c", VALUES),
    (AFFINE, "Affine(high, self.constant // by), Affine(low, self.constant % by)", "Affine(high, self.constant // by), Affine(low, 0 * self.constant)", VALUES),
    (AFFINE, "best = min(best, self.plus(limit, -factor)", "best = min(best, self.plus(limit, factor)", PROOFS),
    # Ranges and simpler forms.
    (RANGES, "Affine(form.terms, form.constant).interval(range_of)", "Affine(form.terms, form.constant + 1).interval(range_of)", VALUES),
    (RANGES, "return min(a, c), min(b, d)", "return max(a, c), min(b, d)", VALUES),
    (RANGES, "(1 << max(b, d).bit_length()) - 1", "max(b, d)", VALUES),
    (RANGES, "(min(a, 0), max(b, 0))", "(0, max(b, 0))", VALUES),
    (SIMPLIFY, 'case ">>" if number >= 0 and range_of(left)[0] >= 0:', 'case ">>" if number >= 0:', PROOFS),
    (SIMPLIFY, "if lo < 0 or form is None:\n        return binary(\"//\"", "if form is None:\n        return binary(\"//\"", VALUES),
    (SIMPLIFY, "if within(low.interval(range_of), (0, g - 1)):", "if within(low.interval(range_of), (0, g)):", PROOFS),
    (SIMPLIFY, '"<=": hi <= 0, ">": lo > 0', '"<=": hi < 0, ">": lo >= 0', VALUES),
    (SIMPLIFY, "-((low.constant - number) // g)", "(number - low.constant) // g", VALUES),
    (SIMPLIFY, "Congruent({}, lo // c * c), -1)", "Congruent({}, lo // c), -1)", VALUES),
    # Proofs.
    (GPU, "return vectors or floats or not is_pure(value)", "return vectors or not is_pure(value)", PROOFS),
    (GPU, '"<": (below.moved(1),),', '"<": (below.moved(2),),', PROOFS),
    (GPU, '"<": ((a, min(b, d - 1)), (max(c, a + 1), d)),', '"<": ((a, min(b, c - 1)), (max(c, a + 1), d)),', PROOFS),
    (GPU, "limits=(*facts.limits, form.negative().moved(window[0]))", "limits=(*facts.limits, form.negative().moved(window[0] + 1))", PROOFS),
    (GPU, 'inside = ir.binary("&", inside, ir.binary(">=", counter, start))', "pass", PROOFS),
    (GPU, "bounded = end - 1 + most <= top", "bounded = end - 1 <= top", PROOFS),
    (GPU, "        self.state.forget(stmt.body)\n        if loop.turns", "        if loop.turns", PROOFS),
    (GPU, "        if isinstance(value, ir.Load) and value.buffer in self.readable:", "        if isinstance(value, ir.Load):", PROOFS),
    (GPU, "ir.select(test, other[c], here[c])", "here[c]", PROOFS),
    (GPU, "            put[leaf] = bounded(leaf, leaf.lo, leaf.hi)", "            pass", PROOFS),
    (GPU, "return True  # an empty grid was not verified", "return False  # an empty grid was not verified", PROOFS),
    (GPU, "        if unsure:\n            self.memory = before", "", f"{VERDICTS}::test_workgroup_memory_must_be_written_first"),
    (GPU, "if _window(family, [m.index for m in family]) < base:", "if True:", PROOFS),
    (GPU, "found = lcm(found, int(by))", "found = int(by)", PROOFS),
    # Alignment.
    (ALIGNMENT, "return number & -number if number else U32_LIMIT", "return number if number else U32_LIMIT", f"{ALIGNED}::test_the_factor_divides_every_value"),
    (ALIGNMENT, 'return max(sides) if op == "&" else min(sides)', "return max(sides)", f"{ALIGNED}::test_the_factor_divides_every_value"),
    (ALIGNMENT, "if isinstance(address.item, Gathering) and address.item.stride % address.unit:", "if False:", f"{ALIGNED}::test_misaligned_matrices_are_refuted_and_not_run"),
    (GPU, "            count = -(-count // unit) * unit", "            pass", f"{ALIGNED}::test_workgroup_variables_beside_matrices_fill_whole_blocks"),
    ("cutepy/tensor/dtypes.py", "return min(MATRIX_BYTES // self.element.bytes, self.rows if by_columns else self.columns)", "return 4", f"{ALIGNED}::test_misaligned_matrices_are_refuted_and_not_run"),
    # Sizes of subgroups.
    (GPU, "if not kernel.varying:", "if True:", f"{SIZES}::test_what_shows_the_size_is_named_with_its_line"),
    (GPU, "0 <= mask < max(4, trace.lanes)", "0 <= mask < 128", f"{SIZES}::test_what_shows_the_size_is_named_with_its_line"),
    # Shapes.
    (TENSOR, "return [(entry, product(shape)) for entry in entries", "return [(entry, product(shape) + 1) for entry in entries", f"{SHAPES}::test_classic_mistakes_are_refuted_and_their_twins_proven"),
    (GPU, "range_of(x)[1] < extent)]", "range_of(x)[1] <= extent)]", f"{SHAPES}::test_random_kernels_over_random_views"),
    (GPU, "            if key not in seen:\n                seen.add(key)", "            if not seen:\n                seen.add(key)", f"{SHAPES}::test_random_kernels_over_random_views"),
    (GPU, 'for op, bound in ((">=", 0), ("<", extent))', 'for op, bound in ((">=", 0), ("<=", extent))', f"{SHAPES}::test_what_runs_writes_nothing_outside_a_view"),
    (GPU, "        _check_offsets(where, tensor, offset, length)", "        pass", f"{SHAPES}::test_offsets_beyond_32_bits_are_refused_with_the_number"),
    (GPU, "        if 0 in shape:\n            return", "        if False:\n            return", f"{UNKNOWN}::test_no_elements_take_their_own_way"),
    (GPU, "if high >= a.length:", "if high < 0:", f"{UNKNOWN}::test_what_reaches_outside_its_memory_is_taken_at_known_sizes"),
    (GPU, "            if written and a.tensor is not None and not tells_apart", "            if False and not tells_apart", f"{UNKNOWN}::test_a_written_tensor_whose_elements_meet_is_taken_at_known_sizes"),
    (GPU, "            if step <= reach:", "            if step < reach:", f"{UNKNOWN}::test_the_quick_test_of_injective_layouts"),
    (GPU, "same = a.tensor.layout == other.tensor.layout and a.offset == other.offset\n            if", "same = a.offset == other.offset\n            if", f"{UNKNOWN}::test_one_memory_under_two_layouts_is_taken_at_known_sizes"),
    (GPU, "same = a.tensor.layout == other.tensor.layout and a.offset == other.offset\n            if", "same = a.tensor.layout == other.tensor.layout\n            if", f"{UNKNOWN}::test_one_memory_under_two_layouts_is_taken_at_known_sizes"),
    (GPU, "a.sizes.view and a.slot in slots:", "a.sizes.view and not slots:", f"{UNKNOWN}::test_one_memory_under_two_layouts_is_taken_at_known_sizes"),
    (GPU, "{one.name, other.name} - specs.keys() or rank_of(one)", "rank_of(one)", f"{REQUIRED}::test_a_planted_fault_in_a_check_of_the_host_is_noticed"),
    (GPU, "        if evaluate(formula, values) < 0:", "        if evaluate(formula, values) < -9:", f"{UNKNOWN}::test_a_condition_is_found_and_checked"),
    (GPU, "                if before != n:", "                if before > n:", f"{UNKNOWN}::test_sizes_of_one_name_are_equal"),
    (GPU, "if name in found and found[name][1] % by:", "if False:", f"{UNKNOWN}::test_facts_that_are_stated"),
    (GPU, "        divided.append(shape[unit])", "        pass", f"{UNKNOWN}::test_one_traced_form_is_right_at_all_sizes"),
    (GPU, "        if obligation.at_most(0, range_of):", "        if obligation.at_most(64, range_of):", f"{UNKNOWN}::test_no_wrong_kernel_is_proven_for_all_sizes"),
    (GPU, "    for obligation in (form.negative(), gap):", "    for obligation in (gap,):", f"{UNKNOWN}::test_no_wrong_kernel_is_proven_for_all_sizes"),
    (TENSOR, "elif end < 0 or _below(end, size) is False:", "elif end < 0:", "tests/tensor/test_views.py::test_an_index_outside_its_mode_is_no_other_element"),
]  # fmt: skip


MUTANTS = [Mutant(*fault) for fault in FAULTS]

if __name__ == "__main__":
    sys.exit(run(MUTANTS, *map(int, sys.argv[1:3])))
