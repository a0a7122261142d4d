"""Forms of `while`, `break`, `continue` and early `return`: `RIGHT` compute what plain Python does, a thread at a time;
`REFUSED` are refused at the line with `# here`, with words that the message holds. Run as plain Python too.
"""

from collections.abc import Callable

from cutepy import gpu, make_tensor

RIGHT: dict[str, Callable[..., None]] = {}
REFUSED: dict[str, tuple[Callable[..., None], str]] = {}


def right(function):
    RIGHT[function.__name__] = function
    return function


def refused(words):
    def keep(function):
        REFUSED[function.__name__] = function, words
        return function

    return keep


def store(y, *values):
    total = 0.0
    for v in values:
        total = total * 0.5 + gpu.cast(v, "f32")
    y[gpu.thread] = total


@right
def while_counts_up(x, n, y):
    gpu.launch(threads=64)
    i, s = 0, 0.0
    while i < n[gpu.thread] % 9:
        s = s + x[i]
        i += 1
    store(y, i, s)


@right
def while_counts_down(x, n, y):
    gpu.launch(threads=64)
    i, s = gpu.thread, 0.0
    while i > 0:
        i -= 1
        s = s + x[i]
    store(y, i, s)


@right
def while_halves(x, n, y):
    gpu.launch(threads=64)
    v, turns = n[gpu.thread], 0
    while v != 0:
        v = v // 2
        turns += 1
    store(y, v, turns)


@right
def while_of_two_conditions(x, n, y):
    gpu.launch(threads=64)
    i = 0
    while i < 64 and x[i] < x[gpu.thread]:
        i += 1
    store(y, i)


@right
def while_either(x, n, y):
    gpu.launch(threads=64)
    i = 0
    while i < 3 or (i < 60 and x[i] > 2.0):
        i += 2
    store(y, i)


@right
def while_not(x, n, y):
    gpu.launch(threads=64)
    i, done = 0, False
    while not done:
        i += 1
        done = i * i > gpu.thread
    store(y, i)


@right
def while_between(x, n, y):
    gpu.launch(threads=64)
    i = n[gpu.thread] % 40
    while 3 < i < 30:
        i += 7
    store(y, i)


@right
def while_with_a_carried_pair(x, n, y):
    gpu.launch(threads=64)
    pair = (0, 1)
    while pair[1] < n[gpu.thread]:
        pair = (pair[1], pair[0] + pair[1])
    store(y, *pair)


@right
def while_with_a_swap(x, n, y):
    gpu.launch(threads=64)
    a, b = n[gpu.thread] + 1, gpu.thread + 1
    while b != 0:
        a, b = b, a % b
    store(y, a)


@right
def while_in_while(x, n, y):
    gpu.launch(threads=64)
    i, s = 0, 0
    while i < gpu.thread % 5:
        j = 0
        while j <= i:
            s += i * j + 1
            j += 1
        i += 1
    store(y, i, s)


@right
def while_in_if(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    if v > 3.0:
        while v > 1.0:
            v = v * 0.5
    else:
        v = v + 8.0
    store(y, v)


@right
def while_in_when(x, n, y):
    gpu.launch(threads=64)
    i = 0
    with gpu.when(gpu.thread > 20):
        while x[i] < 4.0:
            i += 1
    store(y, i)


@right
def while_else(x, n, y):
    gpu.launch(threads=64)
    i, s = 0, 0
    while i < 8:
        if x[i] > x[gpu.thread]:
            s = 7
            break
        i += 1
    else:
        s = 9
    store(y, i, s)


@right
def while_else_without_break(x, n, y):
    gpu.launch(threads=64)
    i = 0
    while i < gpu.thread % 3:
        i += 1
    else:
        i += 10
    store(y, i)


@right
def while_true(x, n, y):
    gpu.launch(threads=64)
    v = n[gpu.thread]
    turns = 0
    while True:
        v = v * 5 % 64
        turns += 1
        if v == 0 or turns == 6:
            break
    store(y, v, turns)


@right
def while_true_left_in_the_middle(x, n, y):
    gpu.launch(threads=64)
    i, s = 0, 0.0
    while True:
        s = s + x[i]
        if s > 20.0:
            break
        i += 1
        s = s * 0.75 + 1.0
        if i == 40:
            break
    store(y, i, s)


@right
def while_continues(x, n, y):
    gpu.launch(threads=64)
    i, s = 0, 0.0
    while i < 20:
        i += 1
        if x[i] < 3.0:
            continue
        s = s + x[i]
        if s > 30.0:
            continue
        s = s + 0.5
    store(y, s)


@right
def while_of_python(x, n, y):
    gpu.launch(threads=64)
    k, s = 5, x[gpu.thread]
    while k > 1:
        k -= 2
        if k == 3:
            continue
        s = s + x[k]
    store(y, k, s)


@right
def while_at_most(x, n, y):
    gpu.launch(threads=64)
    v, turns = x[gpu.thread], 0
    while gpu.at_most(3, v > 1.0):
        v = v * 0.5
        turns += 1
    store(y, v, turns)


@right
def while_at_most_by_data(x, n, y):
    gpu.launch(threads=64)
    lo, hi = 0, 64
    while gpu.at_most(n[gpu.thread] % 7, lo < hi):
        middle = (lo + hi) // 2
        if x[middle] < 4.0:
            lo = middle + 1
        else:
            hi = middle
    store(y, lo, hi)


@right
def while_at_most_over_known_values(x, n, y):
    gpu.launch(threads=64)
    k = 0
    while gpu.at_most(4, k < 9):
        k += 1
    store(y, k, x[gpu.thread])


@right
def while_met_again_from_another_number(x, n, y):
    gpu.launch(threads=64)
    j = 1
    for _again in range(3):
        while gpu.thread % 3 > 0 and j >= 2:
            j = j // 2
        j = j + 1
    store(y, j, x[gpu.thread])


@right
def for_met_again_from_another_number(x, n, y):
    gpu.launch(threads=64)
    j = 1
    for again in range(2):
        for _k in gpu.loop(n[gpu.thread] % 4):
            if again == 0:
                j = 1 - j
            elif j >= 3:
                j = j - 1
        j = j + 5
    store(y, j, x[gpu.thread])


@right
def break_in_for(x, n, y):
    gpu.launch(threads=64)
    s = 0.0
    for k in gpu.loop(64):
        s = s + x[k]
        if s > x[gpu.thread] * 6.0:
            break
    store(y, s)


@right
def break_at_once(x, n, y):
    gpu.launch(threads=64)
    s = 1
    for _k in gpu.loop(n[gpu.thread] % 3):
        s += 4
        break
    store(y, s)


@right
def break_in_when_in_for(x, n, y):
    gpu.launch(threads=64)
    s = 0.0
    for k in gpu.loop(20):
        with gpu.when(x[k] > 6.0):
            s = s + 100.0
            with gpu.when(gpu.thread > k):
                break
        s = s + x[k]
    store(y, s)


@right
def break_in_if_in_when_in_for_in_if(x, n, y):
    gpu.launch(threads=64)
    s = 0.0
    if gpu.thread % 2 == 0:
        for k in range(n[gpu.thread] % 30):
            with gpu.when(x[k] > 2.0):
                if x[k] < x[gpu.thread]:
                    s = s - 1.0
                    break
                s = s + 2.0
            s = s + x[k]
    store(y, s)


@right
def break_of_the_inner_loop(x, n, y):
    gpu.launch(threads=64)
    s = 0.0
    for i in gpu.loop(5):
        for j in gpu.loop(5):
            if x[i * 5 + j] > x[gpu.thread]:
                break
            s = s + x[j]
        s = s + 0.25
    store(y, s)


@right
def break_of_both_loops(x, n, y):
    gpu.launch(threads=64)
    s, found = 0, False
    for i in gpu.loop(5):
        for j in gpu.loop(5):
            s += 1
            if x[i * 5 + j] > x[gpu.thread]:
                found = True
                break
        if found:
            break
        s += 100
    store(y, s)


@right
def break_or_continue(x, n, y):
    gpu.launch(threads=64)
    s = 0.0
    for k in gpu.loop(30):
        if x[k] > 8.0:
            break
        elif x[k] < 2.0:
            continue
        else:
            s = s + 1.0
        s = s + x[k]
    store(y, s)


@right
def break_after_both_sides(x, n, y):
    gpu.launch(threads=64)
    s = 0
    for k in gpu.loop(9):
        if x[k] > 5.0:
            s += 1
            break
        else:
            s += 2
            continue
    store(y, s)


@right
def break_of_pythons_loop(x, n, y):
    gpu.launch(threads=64)
    s = 0.0
    for k in range(4):
        if x[k] > x[gpu.thread]:
            break
        s = s + x[k]
    store(y, s, k)


@right
def break_of_pythons_loop_else(x, n, y):
    gpu.launch(threads=64)
    s = 0.0
    for k, v in enumerate([2.0, 4.0, 8.0]):
        if v > x[gpu.thread]:
            s = s + k
            break
        s = s + v
    else:
        s = s + 100.0
    store(y, s)


@right
def continue_of_pythons_loop(x, n, y):
    gpu.launch(threads=64)
    s = 0.0
    for v in (1.0, 3.0, 5.0):
        if v > x[gpu.thread]:
            continue
        s = s * 2.0 + v
    store(y, s)


@right
def break_known_while_tracing(x, n, y):
    gpu.launch(threads=64)
    s = x[gpu.thread]
    for k in gpu.loop(4):
        for i in range(9):
            if i == 3:
                break
            s = s + x[i + k]
    store(y, s)


@right
def known_break_of_a_loop_of_the_kernel(x, n, y):
    gpu.launch(threads=64)
    s, once = x[gpu.thread], True
    for k in gpu.loop(4):
        s = s + x[k]
        if once:
            break
        s = s + 1000.0
    store(y, s)


@right
def continue_at_the_end(x, n, y):
    gpu.launch(threads=64)
    s = 0
    for k in gpu.loop(9):
        s += 3
        if x[k] > 4.0:
            s += 1
            continue
    store(y, s)


@right
def continue_twice(x, n, y):
    gpu.launch(threads=64)
    s = 0.0
    for k in gpu.loop(20):
        if k % 3 == 0:
            if x[k] > 3.0:
                continue
            s = s + 10.0
        if x[k] < 5.0:
            s = s - 1.0
            continue
        s = s + x[k]
    store(y, s)


@right
def for_else(x, n, y):
    gpu.launch(threads=64)
    s = 0
    for k in gpu.loop(6):
        if x[k] > x[gpu.thread]:
            break
        s += 1
    else:
        s += 50
    store(y, s)


@right
def for_else_that_leaves_the_outer_loop(x, n, y):
    gpu.launch(threads=64)
    s = 0
    for i in gpu.loop(6):
        for j in gpu.loop(3):
            if x[i + j] > x[gpu.thread]:
                break
            s += 1
        else:
            s += 50
            break
        s += 7
    store(y, s)


@right
def registers_in_a_while(x, n, y):
    gpu.launch(threads=64)
    kept = make_tensor("f32", 4)
    for k in range(4):
        kept[k] = 0.0
    i = 0
    while i < n[gpu.thread] % 11:
        kept[i % 4] = kept[i % 4] + x[i]
        if kept[1] > 12.0:
            break
        i += 1
    store(y, kept[0], kept[1], kept[2], kept[3])


@right
def registers_and_continue(x, n, y):
    gpu.launch(threads=64)
    best = make_tensor("f32", 2)
    best[0] = 0.0
    best[1] = 0.0
    for k in gpu.loop(16):
        if x[k] <= best[1]:
            continue
        if x[k] <= best[0]:
            best[1] = x[k]
            continue
        best[1] = best[0]
        best[0] = x[k]
    store(y, best[0], best[1])


def first_above(x, v):
    for k in gpu.loop(64):
        if x[k] > v:
            return k
    return 64


@right
def return_from_a_loop_of_a_helper(x, n, y):
    gpu.launch(threads=64)
    store(y, first_above(x, x[gpu.thread]), first_above(x, 100.0))


def sum_until(x, v):
    i, s = 0, 0.0
    while i < 64:
        if x[i] > v:
            return s, i
        s = s + x[i]
        i += 1
    return s, 99


@right
def return_of_a_tuple_from_a_while(x, n, y):
    gpu.launch(threads=64)
    s, i = sum_until(x, x[gpu.thread])
    store(y, s, i)


def searched(x, v):
    for i in gpu.loop(4):
        for j in gpu.loop(4):
            if x[i * 4 + j] > v:
                return i * 100 + j
        if x[i] == v:
            return 5000
    return 7000


@right
def return_from_nested_loops(x, n, y):
    gpu.launch(threads=64)
    store(y, searched(x, x[gpu.thread]))


def walked(v, count):
    for k in range(count):
        if v > k + 1:
            v = v - 0.75
        yield v


@right
def break_of_a_loop_over_a_generator(x, n, y):
    gpu.launch(threads=64)
    s = 0.0
    for v in walked(x[gpu.thread], 4):
        if v < 3.0:
            break
        s = s + v
    store(y, s)


def noted(log):
    for k in range(3):
        log[0] = log[0] + k
        yield k


@right
def generator_that_sets_an_item_and_is_not_left(x, n, y):
    gpu.launch(threads=64)
    log, s = [0.0], 0.0
    for k in noted(log):
        if x[gpu.thread] > k + 1:
            continue
        s = s + log[0]
    store(y, s, log[0])


@refused("log is changed where the loop takes its next item")
def generator_that_sets_an_item_and_is_left(x, n, y):
    gpu.launch(threads=64)
    log = [0.0]
    for k in noted(log):  # here
        if x[gpu.thread] > k + 1:
            break
    store(y, log[0])


def stored(y):
    for k in range(3):
        y[gpu.thread] = k
        yield k


@refused("y is changed where the loop takes its next item")
def generator_that_stores_and_is_left(x, n, y):
    gpu.launch(threads=64)
    for k in stored(y):  # here
        if x[gpu.thread] > k + 1:
            break


@refused("numbers is changed where the loop takes its next item")
def iterator_with_a_name_that_is_left(x, n, y):
    gpu.launch(threads=64)
    numbers = iter([1, 2, 3, 4, 5])
    for k in numbers:  # here
        if x[gpu.thread] > k + 1:
            break
    store(y, next(numbers, 9))


def in_a_when(v):
    with gpu.when(v > 5.0):
        if v > 8.0:
            return 8.0
        v = v * 0.5
    return v + 1.0


@right
def return_from_a_when(x, n, y):
    gpu.launch(threads=64)
    store(y, in_a_when(x[gpu.thread]))


def deep(v, w):
    if v > 2.0:
        if w > 2.0:
            return 1.0
        v = v + w
        if v > 6.0:
            return v
    w = w * 2.0
    if w > 9.0:
        return w
    return v + w


@right
def returns_of_nested_ifs(x, n, y):
    gpu.launch(threads=64)
    store(y, deep(x[gpu.thread], x[63 - gpu.thread]))


def halved(v, deep):
    """A function that calls itself, and decides by values of the GPU."""
    if deep == 0:
        return v
    if v > 4.0:
        return halved(v * 0.5, deep - 1)
    return halved(v + 1.0, deep - 1) + 0.25


class Halves:
    @staticmethod
    def once(v):
        return v * 0.5 if v > 4.0 else v + 1.0

    def run(self, v):
        while v > 6.0:
            v = Halves.once(v)
        return v


@right
def functions_that_name_themselves_and_their_class(x, n, y):
    gpu.launch(threads=64)
    store(y, halved(x[gpu.thread], 4), Halves().run(x[gpu.thread] * 2.0))


@right
def class_of_the_kernels_own(x, n, y):
    gpu.launch(threads=64)

    class Sum:
        def __init__(self):
            self.total = 0.0

        def add(self, v):
            if v > 1.0:
                self.total = self.total + v

    total = Sum()
    for k in gpu.loop(n[gpu.thread] % 4):
        total.add(x[k])
    store(y, total.total)


def factorial(k):
    return 1 if k == 0 else k * factorial(k - 1)


def of_python(values, v):
    for value in values:
        if value == 3:
            return v * 2.0
    return v


@right
def return_known_while_tracing(x, n, y):
    gpu.launch(threads=64)
    store(y, of_python([1, 2, 3, 4], x[gpu.thread]), of_python([1], x[0]), factorial(4))


def unrolled_search(x, v):
    for k in range(5):
        if x[k] > v:
            return k
    return 9


@right
def return_from_pythons_loop(x, n, y):
    gpu.launch(threads=64)
    store(y, unrolled_search(x, x[gpu.thread]))


@right
def kernel_returns_from_a_loop(x, n, y):
    gpu.launch(threads=64)
    for k in gpu.loop(20):
        if x[k] > x[gpu.thread]:
            y[gpu.thread] = gpu.cast(k, "f32")
            return
    y[gpu.thread] = 77.0


@right
def kernel_returns_from_a_while_in_a_when(x, n, y):
    gpu.launch(threads=64)
    y[gpu.thread] = 3.0
    i = 0
    with gpu.when(gpu.thread % 3 > 0):
        while x[i] < 7.0:
            if i > gpu.thread:
                return
            i += 1
        y[gpu.thread] = 4.0
    y[gpu.thread] = y[gpu.thread] + gpu.cast(i, "f32")


@right
def a_float_becomes_a_register(x, n, y):
    gpu.launch(threads=64)
    s, i = 0, 0
    while i < 5:
        s = s + x[i]
        i += 1
        if s > 9.0:
            break
    store(y, s, i)


@right
def below_zero(x, n, y):
    gpu.launch(threads=64)
    i = 3
    while i > -4:
        i -= 2
        if x[gpu.thread] > 6.0:
            break
    store(y, i)


@right
def a_flag_leaves(x, n, y):
    gpu.launch(threads=64)
    going, k = True, 0
    while going:
        k += 1
        if k > 5:
            going = False
        elif x[k] > x[gpu.thread]:
            going = False
            k += 20
    store(y, k)


@right
def newton(x, n, y):
    gpu.launch(threads=64)
    v, r = x[gpu.thread] + 1.0, x[gpu.thread] + 1.0
    while gpu.at_most(30, r * r > v * 1.001):
        r = 0.5 * (r + v / r)
    store(y, r)


@right
def collatz(x, n, y):
    gpu.launch(threads=64)
    v, steps = n[gpu.thread] + 1, 0
    while v != 1:
        if v % 2 == 0:
            v = v // 2
            continue
        v = 3 * v + 1
        steps += 1
    store(y, steps)


@right
def insertion(x, n, y):
    gpu.launch(threads=64)
    kept = make_tensor("f32", 5)
    for k in range(5):
        kept[k] = x[(gpu.thread + k) % 64]
    for i in gpu.loop(5, start=1):
        v, j = kept[i], i
        while j > 0:
            if kept[j - 1] <= v:
                break
            kept[j] = kept[j - 1]
            j -= 1
        kept[j] = v
    store(y, kept[0], kept[1], kept[2], kept[3], kept[4])


@right
def try_and_with_of_python(x, n, y):
    gpu.launch(threads=64)
    s = 0.0
    for k in gpu.loop(6):
        try:
            if x[k] > 5.0:
                continue
        finally:
            s = s + 0.5
        s = s + x[k]
    store(y, s)


@right
def a_helper_with_a_while_in_a_loop(x, n, y):
    gpu.launch(threads=64)
    s = 0.0
    for k in gpu.loop(4):
        part, i = sum_until(x, x[k])
        if i == 99:
            continue
        s = s + part
    store(y, s)


@right
def a_while_in_a_condition(x, n, y):
    gpu.launch(threads=64)
    if first_above(x, x[gpu.thread]) < 9:
        store(y, 1.0)
    else:
        store(y, 2.0)


@right
def an_index_that_leaves(x, n, y):
    gpu.launch(threads=64)
    where = 64
    for k in gpu.loop(64):
        if x[k] == x[gpu.thread]:
            where = k
            break
    store(y, where)


def returning_where_no_one_comes(v, k):
    i = 0
    for _turn in gpu.loop(k):
        i = 0
        while True:
            i += 1
            if i > 2:
                break
        else:
            if v > 1.0:
                return v
    return v + i


@right
def return_in_an_else_that_is_never_reached(x, n, y):
    gpu.launch(threads=64)
    i = gpu.thread
    y[i] = returning_where_no_one_comes(x[i], n[i] % 3 + 1)


@right
def cast_number_is_carried(x, n, y):
    gpu.launch(threads=64)
    place = gpu.cast(0, "u32")
    for i in gpu.loop(8):
        if x[i] > x[gpu.thread]:
            place = gpu.cast(i, "u32")
    store(y, place)


@refused("v is rebound at line")
def another_type(x, n, y):
    gpu.launch(threads=64)
    v, i = n[gpu.thread], 0
    while i < gpu.thread:
        v = x[i]
        i += 1
    y[gpu.thread] = v  # here


@refused("never ends where it begins a second turn")
def nothing_changes(x, n, y):
    gpu.launch(threads=64)
    while x[0] > 3.0 and gpu.thread < 3:  # here
        y[gpu.thread] = 1.0


@refused("found is changed inside while")
def a_list_changes(x, n, y):
    gpu.launch(threads=64)
    found, i = [], 0
    while i < gpu.thread:
        found.append(x[i])  # here
        i += 1
    y[gpu.thread] = len(found)


@refused("gpu.barrier inside the loop that is left at")
def barrier_where_some_have_left(x, n, y):
    gpu.launch(threads=64)
    for k in gpu.loop(8):
        gpu.barrier()  # here
        if k > gpu.thread:
            break
        y[gpu.thread] = x[k]


@refused("the counter of the loop, which has ended")
def counter_after_a_break(x, n, y):
    gpu.launch(threads=64)
    for k in gpu.loop(8):
        if x[k] > 3.0:
            break
    y[gpu.thread] = k  # here


@refused("first bound at line")
def bound_in_a_while(x, n, y):
    gpu.launch(threads=64)
    i = 0
    while i < gpu.thread:
        last = x[i]
        i += 1
    y[gpu.thread] = last  # here


def clipped(v):
    if v > 3:
        v = v - v + 3
    return v


@right
def bound_that_branches_and_has_a_name(x, n, y):
    gpu.launch(threads=64)
    v, most = n[gpu.thread] % 5, clipped(n[gpu.thread] % 7)
    while gpu.at_most(most, v < 50):
        v = v + 2
    store(y, v)


@refused("the bound of gpu.at_most is asked once, before the loop")
def bound_that_branches(x, n, y):
    gpu.launch(threads=64)
    v = n[gpu.thread] % 5
    while gpu.at_most(clipped(n[gpu.thread] % 7), v < 50):  # here
        v = v + 2
    store(y, v)


@refused("gpu.at_most is the whole condition of a while")
def at_most_elsewhere(x, n, y):
    gpu.launch(threads=64)
    if gpu.at_most(3, x[0] > 1.0):  # here
        y[gpu.thread] = 1.0


def number_or_none(v):
    if v > 3.0:
        return v
    return None


@refused("what the function returns is rebound")
def returns_a_number_or_nothing(x, n, y):
    gpu.launch(threads=64)
    y[gpu.thread] = number_or_none(x[gpu.thread])


@right
def items_of_a_list(x, n, y):
    gpu.launch(threads=64)
    best = [0.0, 0]
    for k in gpu.loop(n[gpu.thread] % 9 + 1):
        if x[k] > best[0]:
            best[0], best[1] = x[k], k
    store(y, *best)


@right
def items_that_two_names_hold(x, n, y):
    gpu.launch(threads=64)
    a = [0.0, 1.0]
    b = a
    for k in gpu.loop(5):
        a[0] = b[1] + x[k]
        b[1] = a[0] * 0.5
    store(y, a[1], b[0])


@right
def items_that_swap(x, n, y):
    gpu.launch(threads=64)
    pair = [0, 1]
    i = 0
    while i < n[gpu.thread] % 9:
        pair[0], pair[1] = pair[1], pair[0] + pair[1]
        i += 1
    store(y, *pair)


@right
def items_of_a_dictionary(x, n, y):
    gpu.launch(threads=64)
    seen = {"low": 1000.0, "high": -1000.0, "where": (0, 0)}
    for k in range(64):
        if x[k] < seen["low"]:
            seen["low"] = x[k]
    for k in gpu.loop(6):
        if x[k] > seen["high"]:
            seen["high"] = x[k]
            seen["where"] = (k, seen["where"][0])
    store(y, seen["low"], seen["high"], *seen["where"])


@right
def items_inside_items(x, n, y):
    gpu.launch(threads=64)
    rows = [[0.0, 0.0], {"left": [1.0]}]
    for k in gpu.loop(4):
        rows[0][1] = rows[0][1] + x[k]
        if k > n[gpu.thread] % 4:
            rows[1]["left"][0] = rows[1]["left"][0] * 2.0
    store(y, *rows[0], rows[1]["left"][0])


@right
def items_that_a_branch_alone_sets(x, n, y):
    gpu.launch(threads=64)
    kept = [1.0, 2.0]
    if x[gpu.thread] > 3.0:
        kept[0] = x[gpu.thread]
    elif n[gpu.thread] > 7:
        kept[1] = 5.0
    else:
        kept[0], kept[1] = kept[1], kept[0]
    store(y, *kept)


@right
def items_at_a_break(x, n, y):
    gpu.launch(threads=64)
    found = [-1.0, 0]
    for k in gpu.loop(20):
        found[1] += 1
        if x[k] > x[gpu.thread]:
            found[0] = x[k]
            break
        if k > n[gpu.thread]:
            continue
        found[0] = found[0] - 1.0
    store(y, *found)


@right
def items_at_an_early_return(x, n, y):
    gpu.launch(threads=64)
    state = [0.0]
    for k in gpu.loop(8):
        state[0] = state[0] + x[k]
        if state[0] > 4.0:
            store(y, state[0], k)
            return
    store(y, state[0])


def add_to(held, at, v):
    if v > 1.0:
        held[at] = held[at] + v


@right
def items_that_a_function_sets(x, n, y):
    gpu.launch(threads=64)
    held = [0.0, 0.0, 0.0]
    for k in gpu.loop(6):
        add_to(held, 1, x[k])
        with gpu.when(x[k] < 3.0):
            add_to(held, 2, x[k] * 2.0)
    store(y, *held)


class Running:
    def __init__(self):
        self.count, self.mean = 0, 0.0

    def add(self, v):
        self.count += 1
        self.mean = self.mean + (v - self.mean) / gpu.cast(self.count, "f32")


@right
def attributes_that_a_method_sets(x, n, y):
    gpu.launch(threads=64)
    running = Running()
    for k in gpu.loop(n[gpu.thread] % 5 + 1):
        if x[k] > 0.5:
            running.add(x[k])
    store(y, running.count, running.mean)


@right
def attributes_of_items(x, n, y):
    gpu.launch(threads=64)
    both = [Running(), Running()]
    i = 0
    while i < 7:
        both[0].add(x[i])
        if both[0].mean > both[1].mean:
            both[1].add(x[i + 1])
        i += 1
    store(y, both[0].mean, both[1].mean, both[1].count)


@right
def items_in_loops_in_loops(x, n, y):
    gpu.launch(threads=64)
    sums = [0.0, 0.0]
    for i in gpu.loop(3):
        sums[1] = 0.0
        for k in gpu.loop(n[gpu.thread] % 4):
            sums[1] = sums[1] + x[k + i]
        sums[0] = sums[0] * 0.5 + sums[1]
    store(y, *sums)


@refused("sums is changed")
def item_more_in_a_while(x, n, y):
    gpu.launch(threads=64)
    sums = [0.0]
    i = 0
    while i < n[gpu.thread]:
        sums.append(x[i])  # here
        i += 1
    y[gpu.thread] = sums[-1]


@refused("keeps its length")
def item_less_in_an_if(x, n, y):
    gpu.launch(threads=64)
    sums = [0.0, 1.0]
    if x[gpu.thread] > 2.0:
        del sums[1]  # here
    y[gpu.thread] = sums[-1]


@refused("state is changed")
def key_more_in_a_loop(x, n, y):
    gpu.launch(threads=64)
    state = {"a": 0.0}
    for k in gpu.loop(3):
        state["b"] = x[k]  # here
    y[gpu.thread] = state["a"]


@refused("kept[0] is rebound at line")
def item_becomes_a_text(x, n, y):
    gpu.launch(threads=64)
    kept = [0.0]
    if x[gpu.thread] > 2.0:  # here
        kept[0] = "much"
    y[gpu.thread] = x[0]


@refused("from f32 to u32")
def item_changes_its_type(x, n, y):
    gpu.launch(threads=64)
    kept = [x[0]]
    if x[gpu.thread] > 2.0:  # here
        kept[0] = n[0]
    y[gpu.thread] = x[0]


def outer_list():
    total = [0.0]

    def add(v):
        if v > 1.0:
            total[0] = total[0] + v  # here

    return total, add


@refused("total is changed")
def item_of_an_enclosing_function(x, n, y):
    gpu.launch(threads=64)
    total, add = outer_list()
    add(x[gpu.thread])
    y[gpu.thread] = total[0]
