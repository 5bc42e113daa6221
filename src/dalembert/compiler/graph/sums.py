"""Fewer additions and multiplications in sums: the last pass, over whole sums instead of single lines.

A tape adds two operands at a time; here every sum is considered as a whole, Σ coefficient × term, with signs
and constant factors as part of the coefficients. This reveals simplifications that the rules for single
lines cannot find:

* y − x is −(x − y), wherever the two occur;
* c (x + y) + d (x − y) is (c + d) x + (c − d) y if one of the sums is used nowhere else;
* x y + … + x z is x (y + z) + …, whatever is between them;
* c x + … + c y is c (x + y) + …;
* two terms that several sums have in common are added once.

A step is taken only if it reduces the number of operations. The rules must not be applied to the result
again: they would rewrite −(x − y) as y − x, a second subtraction.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

from dalembert.compiler.graph.count import count
from dalembert.compiler.graph.passes import live_lines, operands_first, rewritten, use_counts
from dalembert.compiler.graph.tape import Expr, Graph

Terms = dict[int, float]  # term → coefficient
Scaled = tuple[float, int]  # coefficient × term
Signed = tuple[bool, Expr]  # whether it is negated
Pair = tuple[int, int, float, float]  # two terms and their coefficients
ONE = 0  # the constant term
LONG = 48  # longer sums are not searched for pairs, whose number grows quadratically
ROUNDING = 2.3e-16
ODD = ("sin", "tanh", "asin", "sign")  # f(−x) = −f(x)


def condensed(graph: Graph) -> Graph:
    """A graph that computes the same values with fewer operations."""
    best = graph
    for _ in range(4):
        sums = Sums(best)
        sums.inline()
        sums.repeat(sums.expanded)
        sums.repeat(sums.factored)
        sums.share()
        after = sums.written(best)
        if count(after).total >= count(best).total:
            break
        best = after
    return best


def price(terms: Terms) -> int:
    """The number of operations of one sum: terms with equal coefficients are multiplied together, once."""
    return max(0, len(terms) - 1) + len({abs(c) for b, c in terms.items() if b != ONE and abs(c) != 1.0})


def _saving(pair: Pair, times: int) -> int:
    return (times - 1) * (1 + 2 * (abs(pair[2]) != abs(pair[3])))


def added(terms: Terms, term: int, c: float) -> None:
    """terms += c × term; a coefficient that cancels up to rounding is removed."""
    had = terms.get(term, 0.0)
    total = had + c
    if abs(total) <= ROUNDING * abs(c):
        terms.pop(term, None)
    else:
        terms[term] = total


class Sums:
    """A graph with whole sums. ``ops[k]`` is the operation of term k; if it is "sum", ``sums[k]`` holds its terms."""

    def __init__(self, graph: Graph) -> None:
        self.ops: list[tuple[str, tuple[Any, ...]]] = [("one", ())]
        self.sums: dict[int, Terms] = {}
        self.known: dict[object, int] = {}
        self.held: dict[int, Scaled] = {}  # line → coefficient × term
        uses, live = use_counts(graph), live_lines(graph)
        for line in graph.inputs:
            self.held[line] = (1.0, self._term("input", (line,)))
        for line, (op, args) in enumerate(graph.nodes):
            if not live[line] or op == "input":
                continue
            if op == "const":
                self.held[line] = (args[0], ONE)
                continue
            c, term = self._operation(op, [self.held[a] for a in args])
            if abs(c) != 1.0 and uses[line] > 1:  # used several times: multiplied once
                c, term = self._sum({term: c})
            self.held[line] = (c, term)
        self.outputs = [self.held[k] for k in graph.outputs]
        self.read = len(self.ops)  # later terms are new

    # -- reading the tape ------------------------------------------------------------------------

    def _term(self, op: str, args: tuple[Any, ...], terms: Terms | None = None) -> int:
        """The term of this operation or of the sum ``terms``; created the first time."""
        key = (op, args)
        if key not in self.known:
            self.known[key] = len(self.ops)
            self.ops.append(key if terms is None else ("sum", ()))
            if terms is not None:
                self.sums[self.known[key]] = terms
        return self.known[key]

    def _sum(self, terms: Terms) -> Scaled:
        """A sum as a term, normalised so that its first coefficient is positive, and its sign."""
        if not terms:
            return 0.0, ONE
        sign = 1.0 if next(iter(terms.values())) > 0 else -1.0
        positive = {b: sign * c for b, c in terms.items()}
        return sign, self._term("sum", tuple(positive.items()), positive)

    def _whole(self, x: Scaled) -> int:
        """The term equal to c × term."""
        c, term = x
        return term if c == 1.0 else self._term("scaled", (self._term("one", (term, c), {term: c}),))

    def _operation(self, op: str, x: list[Scaled]) -> Scaled:
        if op in ("add", "sub"):
            terms: Terms = {}
            for sign, (c, term) in zip((1.0, 1.0 if op == "add" else -1.0), x, strict=True):
                added(terms, term, sign * c)
            if len(terms) == 1:
                ((term, c),) = terms.items()
                return c, term
            return self._sum(dict(sorted(terms.items())))
        if op == "neg":
            return -x[0][0], x[0][1]
        if op == "mul":
            (c, a), (d, b) = x
            if ONE in (a, b):
                return c * d, a if b == ONE else b
            return c * d, self._term("mul", (min(a, b), max(a, b)))
        if op in ODD or op == "cos":
            c, term = x[0]
            sign = -1.0 if c < 0 else 1.0
            return 1.0 if op == "cos" else sign, self._term(op, (self._whole((sign * c, term)),))
        return 1.0, self._term(op, tuple(self._whole(v) for v in x))

    # -- uses of terms ---------------------------------------------------------------------------

    def operands(self, term: int) -> tuple[int, ...]:
        """The operands of a term."""
        op, args = self.ops[term]
        return tuple(self.sums[term]) if op == "sum" else () if op in ("input", "one") else args

    def order(self) -> list[int]:
        """The needed terms, operands first."""
        return operands_first((term for _, term in self.outputs), self.operands)

    def uses(self) -> list[int]:
        """The number of uses of each term."""
        counts = [0] * len(self.ops)
        for term in self.order():
            for k in self.operands(term):
                counts[k] += 1
        for _, term in self.outputs:
            counts[term] += 1
        return counts

    def needed_sums(self) -> list[int]:
        """The sums among the needed terms, operands first."""
        return [term for term in self.order() if self.ops[term][0] == "sum"]

    # -- the steps -------------------------------------------------------------------------------

    def inline(self) -> None:
        """Merge a sum that is used by only one other sum into that sum."""
        uses = self.uses()
        for term in self.needed_sums():
            terms: Terms = {}
            for b, c in self.sums[term].items():
                if self.ops[b][0] == "sum" and uses[b] == 1:
                    for inner, d in self.sums[b].items():
                        added(terms, inner, c * d)
                else:
                    added(terms, b, c)
            self.sums[term] = terms

    def repeat(self, step: Callable[[int, list[int]], bool]) -> None:
        """Apply a step to every sum as long as it changes the sum."""
        uses = self.uses()
        for term in self.needed_sums():
            while step(term, uses):
                pass

    def expanded(self, term: int, uses: list[int]) -> bool:
        """Expand one or two terms of a sum that are themselves sums, if that is cheaper."""
        terms = self.sums[term]
        parts = [b for b in terms if self.ops[b][0] == "sum" and len(self.sums[b]) <= 4]
        if len(terms) > LONG:
            return False
        best, choice = 0, None
        for i, b in enumerate(parts):
            for some in ((b,), *((b, other) for other in parts[:i] if self.sums[b].keys() & self.sums[other])):
                after = dict(terms)
                for part in some:
                    c = after.pop(part, 0.0)  # it may have cancelled
                    for inner, d in self.sums[part].items():
                        added(after, inner, c * d)
                gain = price(terms) - price(after) + sum(price(self.sums[p]) for p in some if uses[p] == 1)
                if gain > best:
                    best, choice = gain, (some, after)
        if choice is None:
            return False
        some, self.sums[term] = choice
        for part in some:
            uses[part] -= 1
            for inner in self.sums[part]:
                uses[inner] += uses[part] > 0
        return True

    def factored(self, term: int, uses: list[int]) -> bool:
        """x y + x z → x (y + z) for products that are used nowhere else."""
        terms = self.sums[term]
        with_factor: dict[int, list[int]] = {}
        for b in terms:
            op, args = self.ops[b]
            if op == "mul" and uses[b] == 1:
                for x in set(args):
                    with_factor.setdefault(x, []).append(b)
        factor = max(with_factor, key=lambda x: (len(with_factor[x]), -x), default=None)
        if factor is None or len(with_factor[factor]) < 2:
            return False
        inner: Terms = {}
        for b in with_factor[factor]:
            x, y = self.ops[b][1]
            other, c = (y if x == factor else x), terms.pop(b)
            if self.ops[other][0] == "sum" and uses[other] == 1:
                for k, d in self.sums[other].items():
                    added(inner, k, c * d)
            else:
                added(inner, other, c)
        if not inner:
            return True
        if len({abs(c) for c in inner.values()}) == 1:  # the common coefficient stays outside
            outside = abs(next(iter(inner.values())))
            inner = {k: c / outside for k, c in inner.items()}
        else:
            outside = 1.0
        sign, bracket = self._sum(dict(sorted(inner.items())))
        if len(inner) == 1 and abs(next(iter(inner.values()))) == 1.0:
            bracket = next(iter(inner))
        added(terms, self._term("mul", (min(factor, bracket), max(factor, bracket))), sign * outside)
        uses += [1] * (len(self.ops) - len(uses))
        return True

    def share(self) -> None:
        """Extract pairs of terms that several sums have in common, the most profitable first."""
        where: dict[Pair, dict[int, None]] = {}
        for term in self.needed_sums():
            self._note(term, where, True)
        queue = [(-_saving(pair, len(owners)), pair) for pair, owners in where.items() if len(owners) > 1]
        heapq.heapify(queue)
        while queue:
            promised, pair = heapq.heappop(queue)
            owners = list(where.get(pair, ()))
            if len(owners) < 2:
                continue
            if -_saving(pair, len(owners)) != promised:  # fewer occurrences than when it was queued
                heapq.heappush(queue, (-_saving(pair, len(owners)), pair))
                continue
            a, b, c, d = pair
            new = len(self.ops)
            self.ops.append(("sum", ()))
            self.sums[new] = {a: c, b: d}
            fresh: dict[Pair, None] = {}
            for term in owners:
                self._note(term, where, False)
                terms = self.sums[term]
                times = terms.pop(a) / c
                del terms[b]
                added(terms, new, times)
                fresh |= dict.fromkeys(p for p in self._note(term, where, True) if new in p[:2])
            for p in fresh:
                if len(where[p]) > 1:
                    heapq.heappush(queue, (-_saving(p, len(where[p])), p))

    def _note(self, term: int, where: dict[Pair, dict[int, None]], enter: bool) -> list[Pair]:
        """Add or remove all pairs of a sum's terms."""
        terms = self.sums[term]
        if len(terms) > LONG:
            return []
        pairs = []
        listed = sorted((b, c) for b, c in terms.items() if b != ONE)
        for i, (b, d) in enumerate(listed):
            for a, c in listed[:i]:
                sign = 1.0 if c > 0 else -1.0
                pair = (a, b, 1.0, sign * (1.0 if d > 0 else -1.0)) if abs(c) == abs(d) else (a, b, sign * c, sign * d)
                pairs.append(pair)
                if enter:
                    where.setdefault(pair, {})[term] = None
                else:
                    del where[pair][term]
        return pairs

    # -- writing a tape --------------------------------------------------------------------------

    def written(self, old: Graph) -> Graph:
        """A new tape in the order of the old one, with each addition as early as possible."""
        writer = Writer(Graph(simplify=False))
        value: dict[int, Signed] = {ONE: (False, writer.given(writer.graph.constant(1.0)))}
        for line in old.inputs:
            value[self.held[line][1]] = (False, writer.given(writer.graph.input(old.nodes[line][1][0])))
        for term in self.order():
            if term in value:
                continue
            op, args = self.ops[term]
            at = term if term < self.read else 0
            if op == "sum":
                value[term] = writer.total(self.sums[term], value)
            elif op == "scaled":
                value[term] = value[args[0]]
            elif op in ("mul", "div"):
                (s, a), (t, b) = (value[k] for k in args)
                value[term] = (s != t, writer.apply(op, a, b, at=at))
            elif op in ODD or op == "cos":
                s, a = value[args[0]]
                value[term] = (s and op != "cos", writer.apply(op, a, at=at))
            else:
                plain = [writer.plain(value[k]) for k in args]
                value[term] = (False, writer.apply(op, *plain, at=at))
        outputs = [writer.plain(writer.total({term: c}, value)) for c, term in self.outputs]
        return writer.sorted(outputs)


class Writer:
    """A tape being written, with the time at which each line is to be computed."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.time: dict[int, int] = {}

    def given(self, x: Expr) -> Expr:
        """An input or a constant, which is available from the beginning."""
        self.time[x.line] = 0
        return x

    def apply(self, op: str, *args: Expr, at: int = 0) -> Expr:
        """An operation, at this time or as soon as its operands are available."""
        x = self.graph.apply(op, *args)
        self.time.setdefault(x.line, max(at, *(self.time[a.line] for a in args)))
        return x

    def plain(self, x: Signed) -> Expr:
        """The value with its sign."""
        return self.apply("neg", x[1]) if x[0] else x[1]

    def total(self, terms: Terms, value: dict[int, Signed]) -> Signed:
        """A sum; equal coefficients are multiplied once."""
        groups: dict[float, list[Signed]] = {}
        for b, c in terms.items():
            minus, x = value[b]
            if b == ONE:
                groups.setdefault(1.0, []).append((c < 0, self.given(self.graph.constant(abs(c)))))
            else:
                groups.setdefault(abs(c), []).append((minus != (c < 0), x))
        parts: list[Signed] = groups.pop(1.0, [])
        for c, members in groups.items():
            minus, x = self._added(members)
            parts.append((minus, self.apply("mul", self.given(self.graph.constant(c)), x)))
        return self._added(parts) if parts else (False, self.given(self.graph.constant(0.0)))

    def _added(self, parts: list[Signed]) -> Signed:
        """Add the earliest operands first, so that few values are live; the sum has the sign of the first."""
        parts = sorted(parts, key=lambda part: (self.time[part[1].line], part[1].line))
        minus, total = parts[0]
        for k, (other, x) in enumerate(parts[1:], 2):
            if other == minus:
                total = self.apply("add", total, x)
            elif minus and k == len(parts):
                return False, self.apply("sub", x, total)
            else:
                total = self.apply("sub", total, x)
        return minus, total

    def sorted(self, outputs: list[Expr]) -> Graph:
        """The tape in the order of time."""
        self.graph.outputs = [x.line for x in outputs]
        return rewritten(self.graph, sorted(range(len(self.graph.nodes)), key=lambda k: (self.time.get(k, 0), k)))
