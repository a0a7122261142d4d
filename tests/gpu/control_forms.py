"""Forms of control flow that a kernel may take: `right` ones compute what plain Python does, a thread at a time;
`refused` ones are refused at the line with `# here`, with words that the message holds.

The whole file is also run as plain Python (`one_thread`), with `gpu.when` as `if` and `gpu.loop` as `range`.
"""

# ruff: noqa: F821  a name that is deleted is used on purpose

import collections
import contextlib
import functools
import itertools
import numbers
from collections.abc import Callable

from cutepy import gpu, local_tile, make_tensor

RIGHT: dict[str, Callable[..., None]] = {}
REFUSED: dict[str, tuple[Callable[..., None], str]] = {}
TOTALS = []
COUNT = 0


def right(function):
    RIGHT[function.__name__] = function
    return function


def refused(words):
    def keep(function):
        REFUSED[function.__name__] = function, words
        return function

    return keep


@right
def doubled(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    for _k in gpu.loop(4):
        v = v * 2.0
    y[gpu.thread] = v


@right
def conditional(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    with gpu.when(gpu.thread > 31):
        v = v * 2.0
    y[gpu.thread] = v


@right
def partial_sum(x, n, y):
    gpu.launch(threads=64)
    s = 0.0
    for k in gpu.loop(64):
        s = s + x[k]
    y[gpu.thread] = s


@right
def toggled(x, n, y):
    gpu.launch(threads=64)
    side = 0
    pair = make_tensor("f32", 2)
    pair[0] = x[gpu.thread]
    for _k in gpu.loop(3):
        pair[1 - side] = pair[side] + 1.0
        side = 1 - side
    y[gpu.thread] = pair[side]


@right
def augmented(x, n, y):
    gpu.launch(threads=64)
    s, p = 1.0, x[gpu.thread]
    for k in gpu.loop(gpu.thread % 5):
        s += x[k]
        p *= s
        with gpu.when(k % 2 == 0):
            s -= 0.5
    y[gpu.thread] = s + p


@right
def nested_conditions(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    with gpu.when(gpu.thread % 2 == 0):
        v = v + 1.0
        with gpu.when(gpu.thread % 3 == 0):
            v = v * 3.0
        with gpu.when(gpu.thread % 5 == 0):
            v = v - 7.0
    y[gpu.thread] = v


@right
def nested_loops(x, n, y):
    gpu.launch(threads=64)
    total = 0.0
    for i in gpu.loop(4):
        row = 0.0
        for j in gpu.loop(3):
            row = row + x[i * 3 + j]
        total = total * 0.5 + row
    y[gpu.thread] = total + x[gpu.thread]


@right
def condition_in_loop(x, n, y):
    gpu.launch(threads=64)
    best, at = x[0], 0
    for k in gpu.loop(64):
        with gpu.when(x[k] > best):
            best = x[k]
            at = k
    y[gpu.thread] = best + gpu.cast(at, "f32")


@right
def loop_in_condition(x, n, y):
    gpu.launch(threads=64)
    v = 0.0
    with gpu.when(gpu.thread < 40):
        for k in gpu.loop(gpu.thread):
            v = v + x[k]
    y[gpu.thread] = v


@right
def fibonacci(x, n, y):
    gpu.launch(threads=64)
    a, b = 0, 1
    for _k in gpu.loop(n[gpu.thread] % 20):
        a, b = b, a + b
    y[gpu.thread] = a


@right
def tuple_of_numbers(x, n, y):
    gpu.launch(threads=64)
    pair = (x[gpu.thread], 0.0)
    for k in gpu.loop(5):
        pair = (pair[0] * 1.5, pair[1] + pair[0] + gpu.cast(k, "f32"))
    y[gpu.thread] = pair[0] + pair[1]


@right
def counts_down(x, n, y):
    gpu.launch(threads=64)
    left = 3
    for _k in gpu.loop(8):
        left = left - 1
    y[gpu.thread] = left


@right
def counts_down_in_some_threads(x, n, y):
    gpu.launch(threads=64)
    left = 2
    for k in gpu.loop(8):
        with gpu.when(k < gpu.thread % 9):
            left -= 1
    y[gpu.thread] = left


@right
def halves(x, n, y):
    gpu.launch(threads=64)
    half, total = 64, 0.0
    for _k in gpu.loop(6):
        half = half // 2
        with gpu.when(gpu.thread < half):
            total = total + x[gpu.thread + half]
    y[gpu.thread] = total


@right
def number_meets_a_type(x, n, y):
    gpu.launch(threads=64)
    s = 0
    with gpu.when(gpu.thread > 3):
        s = x[gpu.thread]
    t = x[gpu.thread]
    with gpu.when(gpu.thread > 9):
        t = 2
    y[gpu.thread] = s + t


@right
def truth(x, n, y):
    gpu.launch(threads=64)
    seen, flag = False, True
    for k in gpu.loop(8):
        with gpu.when(x[k] > x[gpu.thread]):
            seen = True
            flag = x[k] > 20.0
    y[gpu.thread] = gpu.select(seen, 1.0, x[gpu.thread]) + gpu.select(flag, 4.0, x[0])


@right
def negative(x, n, y):
    gpu.launch(threads=64)
    sign = 1
    with gpu.when(gpu.thread % 2 == 1):
        sign = -1
    y[gpu.thread] = sign


@right
def temporary(x, n, y):
    gpu.launch(threads=64)
    t = gpu.thread
    v = 0.0
    for k in gpu.loop(4):
        t = x[k]  # another type: it is a temporary, nobody reads the old one
        v = v + t
    y[gpu.thread] = v


@right
def temporary_of_unrolled_loops(x, n, y):
    gpu.launch(threads=64)
    v = 0.0
    for i in range(3):
        v = v + x[i]
    for k in gpu.loop(4):
        for i in range(2):
            v = v + x[k * 2 + i]
    y[gpu.thread] = v


@right
def unrolled_over_conditions(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    for i in range(5):
        with gpu.when(gpu.thread % (i + 2) == 0):
            v = v + i
    y[gpu.thread] = v


@right
def continue_that_is_known(x, n, y):
    gpu.launch(threads=64)
    v = 0.0
    for k in gpu.loop(6):
        v = v + x[k]
        if n is not None:
            continue
        v = v * 100.0
    y[gpu.thread] = v


@right
def continue_and_break_of_python(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    with gpu.when(gpu.thread > 5):
        for i in range(10):
            if i == 2:
                continue
            if i == 5:
                break
            v = v + i
        else:
            v = v * 100.0
    y[gpu.thread] = v


@right
def loop_with_else(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    for k in gpu.loop(3):
        v = v + gpu.cast(k, "f32")
    else:
        v = v * 2.0
    y[gpu.thread] = v


def helped(v, k):
    with gpu.when(k % 2 == 0):
        v = v * 2.0
    return v


@right
def through_a_helper(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    for k in gpu.loop(5):
        v = helped(v, k) + 1.0
    y[gpu.thread] = v


def powered(v, *, times=3):
    result = 1.0
    for _k in gpu.loop(times):
        result = result * v
    return result


@right
def helper_with_a_default(x, n, y):
    gpu.launch(threads=64)
    y[gpu.thread] = powered(x[gpu.thread]) + powered(x[gpu.thread], times=2)


@right
def closure(x, n, y):
    gpu.launch(threads=64)
    factor = 1.5

    def scaled(v):
        for _k in gpu.loop(2):
            v = v * factor
        return v

    v = x[gpu.thread]
    with gpu.when(gpu.thread > 7):
        v = scaled(v)
    y[gpu.thread] = v


@right
def nonlocal_of_the_kernel(x, n, y):
    gpu.launch(threads=64)
    total = 0.0

    def add(v):
        nonlocal total
        total = total + v

    for k in gpu.loop(5):
        add(x[k])
        with gpu.when(gpu.thread < k):
            add(1.0)
    y[gpu.thread] = total


def twice(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args) + function(*args)

    return wrapper


@twice
def decorated_step(v):
    with gpu.when(v > 3.0):
        v = v - 3.0
    return v


@right
def decorated_helper(x, n, y):
    gpu.launch(threads=64)
    y[gpu.thread] = decorated_step(x[gpu.thread])


class Accumulator:
    scale = 2.0

    def __init__(self, start):
        self.__start = start

    def run(self, x, count):
        total = self.__start
        for k in gpu.loop(count):
            total = total + x[k] * self.scale
        return total

    def __call__(self, v):
        with gpu.when(gpu.thread > 3):
            v = v + self.__start
        return v


class Louder(Accumulator):
    def run(self, x, count):
        total = super().run(x, count)
        with gpu.when(gpu.thread > 1):
            total = total + 0.25
        return total


@right
def methods(x, n, y):
    gpu.launch(threads=64)
    y[gpu.thread] = Louder(1.0).run(x, 6) + Accumulator(0.5)(x[gpu.thread])


class Private:
    def run(self, v):
        __kept = v
        if v > 2.0:
            __kept = v - 2.0
        for __k in gpu.loop(3):
            __kept += 0.5
        return __kept


@right
def private_names(x, n, y):
    gpu.launch(threads=64)
    y[gpu.thread] = Private().run(x[gpu.thread])


def counting():
    count = 0.0

    def outer(v):
        def inner(v):
            nonlocal count
            count = count + v

        inner(v)
        if v > 2.0:
            inner(1.0)
        return count

    return outer


@right
def variable_of_an_outer_function(x, n, y):
    gpu.launch(threads=64)
    total, step = 0.0, counting
    for _turn in gpu.loop(2):
        total += step()(x[gpu.thread])
    y[gpu.thread] = total


@right
def object_made_inside(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    for k in gpu.loop(3):
        parts = [v, x[k]]
        parts.append(1.0)
        named = {"sum": parts[0] + parts[1]}
        named["sum"] = named["sum"] + parts[2]
        v = named["sum"]
    y[gpu.thread] = v


@right
def comprehensions(x, n, y):
    gpu.launch(threads=64)
    v = 0.0
    for k in gpu.loop(4):
        parts = [x[k + i] * i for i in range(3)]
        v = v + sum([p * 0.5 for p in parts], 0.0)
    y[gpu.thread] = v


@right
def walrus(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    with gpu.when((limit := v + 1.0) > 4.0):
        w = (v := v * 2.0) + limit
        v = v + w
    y[gpu.thread] = v + limit


@right
def walrus_in_a_comprehension(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    for _k in gpu.loop(2):
        _all = [v := v + i for i in range(3)]
    y[gpu.thread] = v


@right
def unpacking(x, n, y):
    gpu.launch(threads=64)
    first, *rest = x[gpu.thread], x[0], x[1]
    with gpu.when(gpu.thread > 9):
        (first, _), *_others = (rest[0], rest[1]), first
    y[gpu.thread] = first


@right
def two_items(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    with gpu.when(gpu.thread > 9), contextlib.nullcontext(3.0) as three, gpu.when(gpu.thread < 30):
        v = v + three
    y[gpu.thread] = v


@right
def tried(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    with gpu.when(gpu.thread > 9):
        try:
            v = v + {"a": 1}["b"]
        except KeyError:
            v = v + 5.0
        finally:
            v = v * 2.0
    y[gpu.thread] = v


@right
def deleted_temporary(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    for k in gpu.loop(3):
        t = x[k]
        v = v + t
        del t
    y[gpu.thread] = v


@right
def matched(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    for k in gpu.loop(3):
        match ("add", k):
            case ("add", step):
                v = v + gpu.cast(step, "f32")
            case _:
                v = v * 100.0
    y[gpu.thread] = v


@right
def known_conditions(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    kind = "none"
    with gpu.when(n is not None):
        kind, v = "some", v + 1.0
    with gpu.when(False):
        kind, v = "other", v + 100.0
        raise ValueError(kind)
    y[gpu.thread] = v + len(kind)


@right
def equal_value(x, n, y):
    gpu.launch(threads=64)
    step, v = 2, x[gpu.thread]
    for _k in gpu.loop(3):
        step = 2
        v = v + step
    for i in range(step):
        v = v + i
    y[gpu.thread] = v


@right
def registers(x, n, y):
    gpu.launch(threads=64)
    acc = make_tensor("f32", 4)
    for i in range(4):
        acc[i] = 0.0
    weight = 1.0
    for k in gpu.loop(5):
        for i in range(4):
            acc[i] = acc[i] + weight * x[k * 4 + i]
        weight = weight * 0.5
    y[gpu.thread] = acc[0] + acc[1] + acc[2] + acc[3]


@right
def data_decides(x, n, y):
    gpu.launch(threads=64)
    at, steps = n[gpu.thread] % 64, 0
    for _k in gpu.loop(6):
        at = n[at] % 64
        with gpu.when(at > 20):
            steps = steps + 1
    y[gpu.thread] = at + steps


@right
def alias(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    old = v
    for k in gpu.loop(3):
        before = v
        v = v + x[k]
        with gpu.when(v > 8.0):
            v = before
    w = v
    with gpu.when(gpu.thread > 3):
        v = old
    y[gpu.thread] = v + w * 2.0 + old * 4.0


@right
def put_back(x, n, y):
    gpu.launch(threads=64)
    w = x[gpu.thread]
    with gpu.when(gpu.thread > 3):
        w = w + 1.0
    start, total = w, 0.0
    for k in gpu.loop(4):
        with gpu.when(k != 1):
            w = w + gpu.cast(k, "f32")
        total = total + w
        w = start
    y[gpu.thread] = total + w


@right
def swapped_in_some_threads(x, n, y):
    gpu.launch(threads=64)
    a, b = x[gpu.thread], x[63]
    for k in gpu.loop(4):
        with gpu.when(a > b):
            a, b = b, a
        a = a + gpu.cast(k, "f32")
    y[gpu.thread] = a - b


@right
def integers_of_both_signs(x, n, y):
    gpu.launch(threads=64)
    i = gpu.cast(gpu.thread, "i32")
    low = 100
    for _k in gpu.loop(5):
        i = i - 20
        with gpu.when(i < low):
            low = i
    y[gpu.thread] = low


@right
def lambdas(x, n, y):
    gpu.launch(threads=64)
    step = lambda v: helped(v, gpu.thread) + 1.0  # noqa: E731
    v = x[gpu.thread]
    for _k in gpu.loop(2):
        v = step(v)
    y[gpu.thread] = v


def many(*args, **kwargs):
    out = 0.0
    for a in args:
        with gpu.when(a > 2.0):
            out = out + a
    for value in kwargs.values():
        out = out + value
    return out


@right
def star_arguments(x, n, y):
    gpu.launch(threads=64)
    y[gpu.thread] = many(x[gpu.thread], x[0], *(x[1], x[2]), extra=x[3], more=x[4])


@right
def partials(x, n, y):
    gpu.launch(threads=64)
    cube = functools.partial(powered, times=3)
    y[gpu.thread] = cube(x[gpu.thread])


@right
def same_name_for_two_loops(x, n, y):
    gpu.launch(threads=64)
    v = 0.0
    for k in gpu.loop(3):
        v = v + x[k]
    for k in gpu.loop(2, start=1):
        v = v * x[k]
    y[gpu.thread] = v


@right
def condition_that_changes(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    with gpu.when(v > 3.0):
        v = v - 3.0
    with gpu.when(v > 3.0):
        v = v - 3.0
    y[gpu.thread] = v


@right
def if_else(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    if gpu.thread > 31:
        v = v * 2.0
    elif gpu.thread % 3 == 0:
        v = v + x[0]
        w = 3.0
        v = v - w
    elif v > 4.0:
        pass
    else:
        v = 0.0
    y[gpu.thread] = v


@right
def bound_on_both_sides(x, n, y):
    gpu.launch(threads=64)
    if x[gpu.thread] > 4.0:
        a, b = x[gpu.thread], 1
    else:
        a, b = 0.5, gpu.thread
    y[gpu.thread] = a + gpu.cast(b, "f32")


@right
def if_in_loops(x, n, y):
    gpu.launch(threads=64)
    best, at, count = x[0], 0, 0
    for k in gpu.loop(64):
        if x[k] > best:
            best, at = x[k], k
        else:
            count += 1
    for k in gpu.loop(4):
        if k % 2 == 0:
            for j in gpu.loop(k):
                best = best + x[j]
        elif k == 3:
            best = best - 1.0
    y[gpu.thread] = best + gpu.cast(at + count, "f32")


@right
def expressions(x, n, y):
    gpu.launch(threads=64)
    t = gpu.thread
    v = x[t] if x[t] > 3.0 else 1.0
    w = x[t + 32] if t < 32 else x[t - 32] * 2.0
    side = 1 if (t % 2 == 0 and t > 3) or x[t] < 1.0 else 2
    far = t + 100
    inside = far < 64 and x[far] > 1.0
    u = 5.0 if not inside else 6.0
    y[t] = v + w + gpu.cast(side, "f32") + u


@right
def chains(x, n, y):
    gpu.launch(threads=64)
    t = gpu.thread
    v = 0.0
    if 3 < t <= 40 and 1.0 <= x[t] < 8.0:
        v = x[t]
    if 2 < 3 < t:
        v = v + 1.0
    y[t] = v


@right
def values_as_truth(x, n, y):
    gpu.launch(threads=64)
    v = 0.0
    if x[gpu.thread]:
        v = 1.0
    if not n[gpu.thread] % 4:
        v = v + 2.0
    w = x[gpu.thread] or 9.0
    y[gpu.thread] = v + w


@right
def if_over_known_values(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    for i in range(4):
        if i == 1:
            continue
        elif i == 3:
            break
        if gpu.thread > i:
            v = v + i
    y[gpu.thread] = v


def sign(v):
    if v > 4.0:
        s = 1
    elif v == 4.0:
        s = 0
    else:
        s = -1
    return s


@right
def if_in_a_helper(x, n, y):
    gpu.launch(threads=64)
    relu = lambda v: v if v > 3.0 else 0.0  # noqa: E731
    y[gpu.thread] = gpu.cast(sign(x[gpu.thread]), "f32") + relu(x[gpu.thread])


@right
def swapped(x, n, y):
    gpu.launch(threads=64)
    a, b, c = x[gpu.thread], x[63], 0
    for _k in gpu.loop(3):
        if a > b:
            a, b = b, a
            c = c + 1
        else:
            a = a + 1.0
    y[gpu.thread] = a - b + gpu.cast(c, "f32")


@right
def early_by_if(x, n, y):
    gpu.launch(threads=64)
    y[gpu.thread] = 7.0
    if gpu.thread >= 32:
        return
    v = x[gpu.thread]
    if v > 4.0:
        y[gpu.thread] = 1.0
        return
    elif v > 2.0:
        v = v + 1.0
    y[gpu.thread] = v


def pieces(v, deep):
    """Returns from several places."""
    if v > 6.0:
        return 6.0
    if deep:
        return v + 0.5
    elif v > 3.0:
        w = v * 2.0
        return w
    v = v + 1.0
    return v


@right
def early_in_a_helper_by_if(x, n, y):
    gpu.launch(threads=64)
    y[gpu.thread] = pieces(x[gpu.thread], False) + pieces(x[gpu.thread], True)


def pair_of(v):
    if v > 6.0:
        return v, 1
    return 0.5, 2


@right
def early_with_a_tuple(x, n, y):
    gpu.launch(threads=64)
    total = 0.0
    for k in range(n[gpu.thread] % 4):
        v, i = pair_of(x[k])
        total = total + v * 2.0 + gpu.cast(i, "f32")
    for k in range(1, n[gpu.thread] % 9, 3):
        total = total + x[k]
    y[gpu.thread] = total


# Refused.


def some(v):
    if v > 3.0:
        return v
    v = v + 1.0  # here


@refused("a register holds a number")
def returns_in_some_threads(x, n, y):
    gpu.launch(threads=64)
    y[gpu.thread] = some(x[gpu.thread])


@refused("gpu.barrier inside the condition")
def barrier_after_an_early_return(x, n, y):
    gpu.launch(threads=64)
    if gpu.thread > 3:
        return
    gpu.barrier()  # here
    y[gpu.thread] = 0.0


def looked_up(v, x):
    for k in gpu.loop(4):
        if x[k] > v:
            return k
    return 0


@right
def early_in_a_loop_by_if(x, n, y):
    gpu.launch(threads=64)
    y[gpu.thread] = looked_up(x[gpu.thread], x)


@refused("acc is changed inside if")
def state_in_else(x, n, y):
    gpu.launch(threads=64)
    acc = []
    if gpu.thread > 3:
        y[gpu.thread] = 1.0
    else:
        acc.append(1)  # here
    y[gpu.thread] = len(acc)


@refused("v is first bound")
def bound_on_one_side(x, n, y):
    gpu.launch(threads=64)
    if gpu.thread > 3:
        v = 1.0
    else:
        y[gpu.thread] = 0.0
    y[gpu.thread] = v  # here


@refused("a register holds a number")
def tensors_of_two_sides(x, n, y):
    gpu.launch(threads=64)
    if gpu.thread > 3:
        t = local_tile(x, (4,), (0,))
    else:
        t = local_tile(x, (4,), (1,))
    y[gpu.thread] = t[0]  # here


@refused("a register holds a number")
def tensors_in_an_expression(x, n, y):
    gpu.launch(threads=64)
    t = x if gpu.thread > 3 else y  # here
    y[gpu.thread] = t[0]


@refused("an exception leaves if")
def caught_in_an_if(x, n, y):
    gpu.launch(threads=64)
    with contextlib.suppress(ValueError):
        if gpu.thread > 3:  # here
            raise ValueError
    y[gpu.thread] = 0.0


@refused("acc is changed")
def state_in_an_expression(x, n, y):
    gpu.launch(threads=64)
    acc = []
    y[gpu.thread] = 0.0
    acc.append(1) if gpu.thread > 3 else None  # here


@right
def early(x, n, y):
    gpu.launch(threads=64)
    with gpu.when(gpu.thread >= 32):
        return
    y[gpu.thread] = 0.0


def clipped(v):
    with gpu.when(v > 3.0):
        return 3.0
    return v


@right
def early_in_a_helper(x, n, y):
    gpu.launch(threads=64)
    y[gpu.thread] = clipped(x[gpu.thread])


@right
def early_in_a_loop(x, n, y):
    gpu.launch(threads=64)
    for k in gpu.loop(4):
        y[gpu.thread] = y[gpu.thread] + gpu.cast(k, "f32") * 2.0 + 1.0
        for _i in range(3):
            return


@right
def broken(x, n, y):
    gpu.launch(threads=64)
    for k in gpu.loop(4):
        y[gpu.thread] = y[gpu.thread] + gpu.cast(k, "f32") * 2.0 + 1.0
        break


@right
def broken_in_some_threads(x, n, y):
    gpu.launch(threads=64)
    for k in gpu.loop(4):
        y[gpu.thread] = y[gpu.thread] + gpu.cast(k, "f32") * 2.0 + 1.0
        with gpu.when(x[k] > 3.0):
            break


@right
def continued_in_some_threads(x, n, y):
    gpu.launch(threads=64)
    for k in gpu.loop(4):
        with gpu.when(x[k] > 3.0):
            continue
        y[gpu.thread] = y[gpu.thread] + gpu.cast(k, "f32") * 2.0 + 1.0


@refused("v is first bound at line")
def bound_inside(x, n, y):
    gpu.launch(threads=64)
    with gpu.when(gpu.thread > 3):
        v = x[gpu.thread]
    y[gpu.thread] = v  # here


@refused("v is first bound at line")
def bound_inside_and_pure(x, n, y):
    gpu.launch(threads=64)
    for _k in gpu.loop(3):
        v = gpu.thread + 1
    y[gpu.thread] = v  # here


@refused("k is the counter of the loop")
def counter_after_its_loop(x, n, y):
    gpu.launch(threads=64)
    for k in gpu.loop(4):
        y[k] = 0.0
    y[k] = x[0]  # here


class Box:
    def __init__(self):
        self.value = 0.0


@refused("list is changed")
def list_append(x, n, y):
    gpu.launch(threads=64)
    list = []
    with gpu.when(gpu.thread > 3):
        list.append(1)  # here
    y[gpu.thread] = len(list)


@right
def list_item(x, n, y):
    gpu.launch(threads=64)
    acc = [0.0, 0.0]
    for k in gpu.loop(4):
        acc[0] = acc[0] + x[k]
    y[gpu.thread] = acc[0]


@refused("acc is changed")
def list_in_place(x, n, y):
    gpu.launch(threads=64)
    acc = [0.0, 0.0]
    other = acc
    for k in gpu.loop(4):
        acc += [x[k]]  # here
    y[gpu.thread] = len(other)


@refused(
    "state['a'] is changed",
)
def dict_item(x, n, y):
    gpu.launch(threads=64)
    state = {"a": [1]}
    with gpu.when(gpu.thread > 3):
        state["a"].append(2)  # here
    y[gpu.thread] = len(state["a"])


@right
def attribute(x, n, y):
    gpu.launch(threads=64)
    box = Box()
    for k in gpu.loop(4):
        box.value = box.value + x[k]
    y[gpu.thread] = box.value


@refused("seen is changed")
def set_add(x, n, y):
    gpu.launch(threads=64)
    seen = set()
    for _k in gpu.loop(4):
        seen.add(1)  # here
    y[gpu.thread] = len(seen)


@refused("COUNT is changed")
def global_number(x, n, y):
    global COUNT
    gpu.launch(threads=64)
    COUNT = 0
    for _k in gpu.loop(4):
        COUNT = COUNT + 1  # here
    y[gpu.thread] = COUNT


@refused("TOTALS is changed")
def global_list(x, n, y):
    gpu.launch(threads=64)
    with gpu.when(gpu.thread > 3):
        TOTALS.append(1)  # here
    y[gpu.thread] = len(TOTALS)


def count_one():
    global COUNT
    COUNT += 1  # here


@refused("COUNT")
def global_through_a_helper(x, n, y):
    gpu.launch(threads=64)
    for _k in gpu.loop(4):
        count_one()
    y[gpu.thread] = COUNT


def remember(values, v):
    values.append(v)  # here


@refused("kept is changed")
def list_through_a_helper(x, n, y):
    gpu.launch(threads=64)
    kept = []
    for k in gpu.loop(4):
        remember(kept, x[k])
    y[gpu.thread] = kept[0]


def tally():
    count = 0

    def more():
        nonlocal count
        with gpu.when(gpu.thread > 3):
            count = count + 1  # here
        return count

    return more


@refused("count is changed")
def nonlocal_in_a_closure(x, n, y):
    gpu.launch(threads=64)
    y[gpu.thread] = tally()()


@refused("numbers is changed")
def iterator(x, n, y):
    gpu.launch(threads=64)
    numbers = iter([1, 2, 3, 4])
    for _k in gpu.loop(2):
        y[gpu.thread] = next(numbers)  # here


@refused("is no number of Python there")
def kind_of_a_number(x, n, y):
    gpu.launch(threads=64)
    w = sign(x[gpu.thread])
    y[gpu.thread] = 1.0 if type(w) is int else 2.0  # here


@refused("is no number of Python there")
def one_of_several_kinds(x, n, y):
    gpu.launch(threads=64)
    w = sign(x[gpu.thread])
    y[gpu.thread] = 1.0 if isinstance(w, str | int) else 2.0  # here


@refused("is no number of Python there")
def abstract_kind_in_a_tuple(x, n, y):
    gpu.launch(threads=64)
    w = sign(x[gpu.thread])
    y[gpu.thread] = 1.0 if isinstance(w, (str, (numbers.Number,))) else 2.0  # here


@right
def kind_of_what_holds_a_number(x, n, y):
    gpu.launch(threads=64)
    box = Box()
    box.value = sign(x[gpu.thread])
    v = 1.0 if isinstance(box.value, (tuple, str)) else 2.0
    match box:
        case Box(value=w) if type(box) is Box:
            v = v + gpu.cast(w, "f32")
    y[gpu.thread] = v


@refused("is no number of Python there")
def kind_of_a_complex_number(x, n, y):
    gpu.launch(threads=64)
    z = gpu.Complex(x[gpu.thread], 1.0)
    y[gpu.thread] = 1.0 if isinstance(z, complex) else 2.0  # here


@refused("is no number of Python there")
def kind_inside_a_pattern(x, n, y):
    gpu.launch(threads=64)
    v = 0.0
    match {"a": (sign(x[gpu.thread]), 1)}:  # here
        case {"a": (int(), _)}:
            v = 1.0
    y[gpu.thread] = v


@refused("is no number of Python there")
def kind_of_an_attribute_in_a_pattern(x, n, y):
    gpu.launch(threads=64)
    box, v = Box(), 0.0
    box.value = sign(x[gpu.thread])
    match box:  # here
        case Box(value=int()):
            v = 1.0
    y[gpu.thread] = v


@refused("items is changed")
def iterator_of_itertools(x, n, y):
    gpu.launch(threads=64)
    items, v = itertools.chain([1.0, 2.0], [5.0]), 0.0
    if x[gpu.thread] > 3.0:
        v = next(items)  # here
    y[gpu.thread] = v + next(items)


@refused("items is changed")
def generator_that_stands_where_it_stood(x, n, y):
    gpu.launch(threads=64)
    items = (i * 2 for i in [1, 2, 3, 4])
    v = next(items)
    if x[gpu.thread] > 3.0:
        v = next(items)  # here
    y[gpu.thread] = v + next(items)


@refused("that does not tell how far it has come")
def iterator_that_tells_nothing(x, n, y):
    gpu.launch(threads=64)
    items, v = itertools.cycle([1.0, 2.0]), 0.0
    if x[gpu.thread] > 3.0:  # here
        v = next(items)
    y[gpu.thread] = v + next(items)


@right
def containers_written_in_python(x, n, y):
    gpu.launch(threads=64)
    outer, named = collections.ChainMap({"a": 1.0}, {"b": 2.0}), collections.UserDict(a=1.0)
    if x[gpu.thread] > 3.0:
        outer["a"] = 5.0
        named["a"] = x[gpu.thread]
    y[gpu.thread] = outer["a"] + outer["b"] + named["a"]


@refused("from u32 to f32")
def another_type(x, n, y):
    gpu.launch(threads=64)
    v = gpu.thread
    for k in gpu.loop(4):
        v = gpu.cast(v, "f32") + x[k]  # here
    y[gpu.thread] = v


@refused("from f32 to u32")
def another_type_after_a_condition(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    with gpu.when(gpu.thread > 3):
        v = gpu.thread
    y[gpu.thread] = v  # here


@refused("a register holds a number")
def tensors_that_change_places(x, n, y):
    gpu.launch(threads=64)
    a, b = x, y
    for k in gpu.loop(4):
        b[k] = a[k]  # here
        a, b = b, a


@refused("a register holds a number")
def tile_after_a_condition(x, n, y):
    gpu.launch(threads=64)
    tile = local_tile(x, (4,), (0,))
    with gpu.when(gpu.thread > 3):
        tile = local_tile(x, (4,), (1,))
    y[gpu.thread] = tile[0]  # here


@refused("a register holds a number")
def text_that_changes(x, n, y):
    gpu.launch(threads=64)
    mode = "first"
    for k in gpu.loop(4):
        y[k] = len(mode)  # here
        mode = "later"


@refused("v is deleted")
def deleted(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    with gpu.when(gpu.thread > 3):
        del v
    y[gpu.thread] = v  # here


@refused("an exception leaves gpu.when")
def caught(x, n, y):
    gpu.launch(threads=64)
    y[gpu.thread] = 0.0
    try:
        with gpu.when(gpu.thread > 3):
            raise ValueError  # here
    except ValueError:
        y[gpu.thread] = 1.0


def chunks(count):
    for k in gpu.loop(count):
        yield k * 2  # here


@refused("yield inside gpu.loop")
def generator(x, n, y):
    gpu.launch(threads=64)
    v = 0.0
    for k in chunks(4):
        v = v + x[k]
    y[gpu.thread] = v


@contextlib.contextmanager
def in_bounds(i):
    with gpu.when(i < 4):  # here
        yield


@refused("gpu.when outside")
def own_context(x, n, y):
    gpu.launch(threads=64)
    with in_bounds(gpu.thread):
        y[gpu.thread] = 0.0


@refused("once is changed inside gpu.when")
def smuggled(x, n, y):
    gpu.launch(threads=64)
    y[gpu.thread] = 0.0

    @functools.cache
    def once():
        return x[gpu.thread]

    with gpu.when(gpu.thread > 3):
        y[gpu.thread] = once()  # here
    y[gpu.thread] = once()


@right
def number_below_0_after_its_block(x, n, y):
    gpu.launch(threads=64)
    w = 1
    with gpu.when(x[gpu.thread] > 3.0):
        w = w - 1
    v = 2 if x[gpu.thread] > 5.0 else 0
    for k in gpu.loop(4, start=w - 3):
        v = v + k
    y[gpu.thread] = gpu.cast(w - 3, "f32") + gpu.cast((v - 5) // 2, "f32") * 16.0


@refused("a Python number that may lie below 0 meets a u32 value")
def number_below_0_compared(x, n, y):
    gpu.launch(threads=64)
    w = 1
    with gpu.when(x[gpu.thread] > 3.0):
        w = w - 2
    y[gpu.thread] = gpu.select(n[gpu.thread] > w, 1.0, 0.0)  # here


@refused("a Python number that may lie below 0 meets a u32 value")
def number_below_0_bounds_a_loop(x, n, y):
    gpu.launch(threads=64)
    w = 1
    with gpu.when(x[gpu.thread] > 3.0):
        w = w - 2
    for k in gpu.loop(n[gpu.thread], start=w):  # here
        y[k] = 1.0


@refused("returns")
def returns(x, n, y):
    gpu.launch(threads=64)
    return x[gpu.thread]


@refused("writes no argument")
def writes_nothing(x, n, y):
    gpu.launch(threads=64)
    x[gpu.thread] * 2.0
