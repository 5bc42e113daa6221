"""Translation of plain Python functions on numbers and arrays to LLVM IR.

Algorithms with loops and branches are written as ordinary functions with annotated parameters and run as such. This
module translates the same source, from its syntax tree, to LLVM IR. The supported subset is small:

    types        float, int, bool; contiguous arrays FloatsN, IntegersN and FlagsN of N dimensions; tuples of numbers as
                 return values; NamedTuples of all these as parameters
    statements   assignments, also to elements and to tuples of names; if, while, for … in range(…); for … in
                 lanes(…), whose iterations LLVM may vectorise; break, continue, return; calls
    expressions  arithmetic, comparisons, and, or, not, a if b else c; sqrt, abs, min, max, float, int, len;
                 x.shape[k], elements x[i, j] and subarrays x[i]; calls of other such functions, including imported
                 ones; numerical constants of the module

A name keeps its first type; an int is converted to a float where one is needed. Indices must not be negative and are
not checked, and a division by zero gives an infinity: a function must contain the checks that it needs.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple, cast

from dalembert.compiler.emit.ir import IR, Form, exact
from dalembert.errors import DalembertError

FAST = "nnan nsz contract"  # inputs are not NaN; products and sums may be fused but not reordered
FLOAT, INT, BOOL = "double", "i64", "i1"
NUMBERS = {"float": FLOAT, "int": INT, "bool": BOOL}
ELEMENTS = {"Floats": FLOAT, "Integers": INT, "Flags": "i8"}  # a flag occupies one byte of memory
COMPARED = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
# loop metadata: a loop over a range stays scalar, a loop over lanes is vectorised
DECLARED = """
declare double @llvm.sqrt.f64(double)
declare double @llvm.fabs.f64(double)
!0 = !{}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = !{!"llvm.loop.interleave.count", i32 1}
!3 = !{!"llvm.loop.vectorize.enable", i1 false}
!4 = !{!"llvm.loop.parallel_accesses", !5}
!5 = distinct !{}
!6 = distinct !{!6, !1, !3}
!7 = distinct !{!7, !1, !2, !4}
"""
CALCULATED = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}


class ArrayType(NamedTuple):
    """The type of an array: its element type in memory and its number of dimensions."""

    element: str
    ndim: int


class RecordType(NamedTuple):
    """The type of a NamedTuple: its fields, in 8-byte words in memory; an array is a pointer and its shape."""

    fields: tuple[tuple[str, Type], ...]


Type = str | ArrayType | RecordType


class Value(NamedTuple):
    """A value: a number in a register or a constant, an array by its address and its shape, or a record by its address."""

    type: Type
    name: str
    shape: tuple[str, ...] = ()


class Interface(NamedTuple):
    """The parameters, (name, type) each, and the return types of a function."""

    parameters: tuple[tuple[str, Type], ...]
    returns: tuple[str, ...]  # scalar types


class NotTranslated(DalembertError):
    """An unsupported Python construct."""


@cache
def interface_of(function: FunctionType) -> Interface:
    """The interface declared by a function's annotations, which are strings."""
    annotations = dict(function.__annotations__)
    returns = annotations.pop("return", "None")
    parameters = tuple((name, _type(x, function.__globals__)) for name, x in annotations.items())
    numbers = re.fullmatch(r"tuple\[(.*)\]", returns)
    listed = numbers.group(1).split(", ") if numbers else [] if returns == "None" else [returns]
    return Interface(parameters, tuple(NUMBERS[x] for x in listed))


def _type(annotation: str, names: dict[str, Any]) -> Type:
    if annotation in NUMBERS:
        return NUMBERS[annotation]
    record = names.get(annotation)
    if isinstance(record, type) and issubclass(record, tuple):
        listed = {field: str(getattr(x, "__forward_arg__", x)) for field, x in record.__annotations__.items()}
        return RecordType(tuple((field, _type(x, {})) for field, x in listed.items()))
    array = re.fullmatch(r"(Floats|Integers|Flags)([1-9])", annotation)
    if array is None:
        raise NotTranslated(f"{annotation} is not a supported type; use float, int, bool, Floats1, Integers2, …")
    return ArrayType(ELEMENTS[array.group(1)], int(array.group(2)))


def functions_ir(functions: Sequence[FunctionType]) -> str:
    """The module with these functions, which are exported, and all functions that they call."""
    listed = list(functions)
    trees: dict[str, dict[str, ast.FunctionDef]] = {}
    texts = []
    for function in listed:  # extended by the functions that are called
        name = function.__module__
        if name not in trees:
            source = ast.parse(inspect.getsource(sys.modules[name]))
            trees[name] = {node.name: node for node in source.body if isinstance(node, ast.FunctionDef)}
        texts.append(_Translation(function, trees[name][function.__name__], function in functions, listed).text())
    return "\n".join((*texts, DECLARED))


class _Translation:
    """The translation of one function; its variables are in memory, from which LLVM promotes them to registers."""

    def __init__(
        self, function: FunctionType, tree: ast.FunctionDef, outside: bool, listed: list[FunctionType]
    ) -> None:
        self.function, self.tree, self.listed, self.outside = function, tree, listed, outside
        self.interface = interface_of(function)
        self.ir, self.entry = IR(Form(1)), IR(Form(1))
        self.variables: dict[str, Type] = {}
        self.fixed: dict[str, Value] = {}  # parameters that are never assigned
        self.loaded: set[str] = set()  # fields of records
        self.loops: list[tuple[str, str]] = []  # targets of continue and break
        self.lanes = ""  # metadata that marks the iterations of the innermost loop as independent
        self.labels = 0

    def text(self) -> str:
        """The whole definition."""
        stored = {x.id for x in ast.walk(self.tree) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
        given = []
        for name, type_ in self.interface.parameters:
            parts = _parts(name, type_)
            given += [f"{part} %{place}" for part, place in parts]
            if name in stored:
                self._declare(name, type_)
                for part, place in parts:
                    self.ir.say(f"store {part} %{place}, ptr %v.{place}")
            else:
                self.fixed[name] = _value(type_, *(f"%{place}" for _, place in parts))
        self._block(self.tree.body)
        self.ir.say("ret void" if not self.interface.returns else "unreachable")
        linkage = "" if self.outside else "internal "
        loops = any(isinstance(x, ast.For | ast.While) for x in ast.walk(self.tree))
        inlining = (
            "" if self.outside else " noinline" if loops else " alwaysinline"
        )  # otherwise LLVM would inline too much
        head = f"define {linkage}{_returned(self.interface)} @{self.function.__name__}({', '.join(given)}) nounwind{inlining} {{"
        return "\n".join((head, "entry:", *self.entry.lines, "  br label %begin", "begin:", *self.ir.lines, "}"))

    def _refuse(self, node: ast.AST, what: str) -> NotTranslated:
        return NotTranslated(
            f"{self.function.__name__}, line {getattr(node, 'lineno', 0)}: {what}: {ast.unparse(node)[:80]}"
        )

    def _label(self, *names: str) -> tuple[str, ...]:
        self.labels += 1
        return tuple(f"{name}{self.labels}" for name in names)

    # -- names -----------------------------------------------------------------------------------

    def _declare(self, name: str, type_: Type) -> None:
        self.variables[name] = type_
        for part, place in _parts(name, type_):
            self.entry.say(f"%v.{place} = alloca {part}")

    def _read(self, name: str) -> Value:
        if name in self.fixed:
            return self.fixed[name]
        type_ = self.variables[name]
        return _value(type_, *(self.ir.let(f"load {part}, ptr %v.{place}") for part, place in _parts(name, type_)))

    def _field(self, node: ast.AST, record: Value, name: str) -> Value:
        """A field of a record; it is constant and loaded once."""
        if not isinstance(record.type, RecordType):
            raise self._refuse(node, "not a record")
        word = 0
        for field, type_ in record.type.fields:
            parts = _parts(f"{record.name[1:]}.{field}", type_)
            if field == name:
                registers = [f"%f.{place}" for _, place in parts]
                if registers[0] not in self.loaded:
                    self.loaded.add(registers[0])
                    for k, ((part, _), register) in enumerate(zip(parts, registers, strict=True)):
                        self.entry.say(f"{register}.at = getelementptr i64, ptr {record.name}, i64 {word + k}")
                        self.entry.say(f"{register} = load {part}, ptr {register}.at, !invariant.load !0")
                return _value(type_, *registers)
            word += len(parts)
        raise self._refuse(node, "no such field")

    def _write(self, node: ast.AST, name: str, value: Value) -> None:
        if name not in self.variables:
            self._declare(name, value.type)
        value = self._as(node, value, self.variables[name])
        for (part, place), x in zip(_parts(name, value.type), (value.name, *value.shape), strict=True):
            self.ir.say(f"store {part} {x}, ptr %v.{place}")

    def _as(self, node: ast.AST, value: Value, type_: Type) -> Value:
        """The value as one of this type: integers become floats."""
        if value.type == type_:
            return value
        if value.type == INT and type_ == FLOAT:
            if re.fullmatch(r"-?\d+", value.name):
                return Value(FLOAT, exact(float(value.name)))
            return Value(FLOAT, self.ir.let(f"sitofp i64 {value.name} to double"))
        raise self._refuse(node, f"{value.type} where {type_} is needed")

    # -- statements ------------------------------------------------------------------------------

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets, value):
                values = self._values(value)
                for target in targets:
                    self._assign(target, values)
            case ast.AugAssign(target, op, value):
                old = self._scalar(target)
                self._assign(target, [self._calculate(node, op, old, self._scalar(value))])
            case ast.If(test, body, orelse):
                yes, no, end = self._label("then", "else", "fi")
                self.ir.branch(self._bool(test).name, yes, no)
                self._block(body)
                self.ir.go(end, no)
                self._block(orelse)
                self.ir.go(end)
            case ast.While(test, body, []):
                self._while(lambda: self._bool(test), body, lambda: None)
            case ast.For(ast.Name(name), ast.Call(ast.Name("range" | "lanes" as how), arguments), body, []):
                before, self.lanes = self.lanes, ", !llvm.access.group !5" if how == "lanes" else ""
                self._for(node, name, arguments, body)
                self.lanes = before
            case ast.Continue() | ast.Break():
                self.ir.go(self.loops[-1][isinstance(node, ast.Break)], *self._label("after"))
            case ast.Return(value):
                self._return(node, value)
                self.ir.label(*self._label("after"))
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(ast.Call() as call):
                self._call(call)
            case _:
                raise self._refuse(node, "an unsupported statement")

    def _assign(self, target: ast.expr, values: Sequence[Value]) -> None:
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        if len(targets) != len(values):
            raise self._refuse(target, f"{len(values)} values for {len(targets)} names")
        for place, value in zip(targets, values, strict=True):
            if isinstance(place, ast.Name):
                if place.id != "_":
                    self._write(place, place.id, value)
                continue
            if not isinstance(place, ast.Subscript):
                raise self._refuse(place, "not a valid assignment target")
            view = self._element(place)
            if view.shape:
                raise self._refuse(place, "assign to the elements of an array individually")
            element = _element_type(view)
            number = self._as(place, value, BOOL if element == "i8" else element)
            stored = self.ir.let(f"zext i1 {number.name} to i8") if element == "i8" else number.name
            self.ir.say(f"store {element} {stored}, ptr {view.name}{self.lanes}")

    def _while(self, test: Callable[[], Value], body: Sequence[ast.stmt], step: Callable[[], None]) -> None:
        again, inside, next_, end = self._label("while", "do", "next", "done")
        self.ir.go(again)
        self.ir.branch(test().name, inside, end)
        self.loops.append((next_, end))
        self._block(body)
        self.loops.pop()
        self.ir.go(next_)
        step()
        self.ir.say(f"br label %{again}, !llvm.loop !{7 if self.lanes else 6}")
        self.ir.label(end)

    def _for(self, node: ast.For, name: str, arguments: Sequence[ast.expr], body: Sequence[ast.stmt]) -> None:
        bounds = [self._as(x, self._value(x), INT).name for x in arguments]
        start, end = ("0", bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
        step = bounds[2] if len(bounds) == 3 else "1"
        if not re.fullmatch(r"-?[1-9]\d*", step):
            raise self._refuse(node, "the step of a range must be a constant")
        (counter,) = self._label(f"{name}.count")
        self._declare(counter, INT)
        self.ir.say(f"store i64 {start}, ptr %v.{counter}")

        def count() -> str:
            return self.ir.let(f"load i64, ptr %v.{counter}")

        def goes_on() -> Value:
            now = count()
            goes = self.ir.let(f"icmp {'sgt' if step.startswith('-') else 'slt'} i64 {now}, {end}")
            if name != "_":
                self._write(node, name, Value(INT, now))
            return Value(BOOL, goes)

        def advance() -> None:
            self.ir.say(f"store i64 {self.ir.let(f'add nsw i64 {count()}, {step}')}, ptr %v.{counter}")

        self._while(goes_on, body, advance)

    def _return(self, node: ast.Return, value: ast.expr | None) -> None:
        types = self.interface.returns
        values = [] if value is None else self._values(value)
        if len(values) != len(types):
            raise self._refuse(node, f"the annotation declares {len(types)} values")
        numbers = [self._as(node, x, type_) for x, type_ in zip(values, types, strict=True)]
        returned = _returned(self.interface)
        if len(numbers) < 2:
            self.ir.say(f"ret {returned} {numbers[0].name}" if numbers else "ret void")
            return
        whole = "undef"
        for k, number in enumerate(numbers):
            whole = self.ir.let(f"insertvalue {returned} {whole}, {number.type} {number.name}, {k}")
        self.ir.say(f"ret {returned} {whole}")

    # -- expressions -----------------------------------------------------------------------------

    def _values(self, node: ast.expr) -> list[Value]:
        """The values of a tuple, of a function that returns several, or of anything else."""
        if isinstance(node, ast.Tuple):
            return [self._value(x) for x in node.elts]
        if isinstance(node, ast.Call):
            return list(self._call(node))
        return [self._value(node)]

    def _value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value) if isinstance(value, bool | int | float):
                return _constant(value)
            case ast.Name(name):
                return self._named(node, name)
            case ast.Attribute(ast.Name(name), field):
                return self._field(node, self._named(node, name), field)
            case ast.Subscript(ast.Attribute(array, "shape"), ast.Constant(int(axis))):
                return Value(INT, self._view(array).shape[axis])
            case ast.Subscript():
                view = self._element(node)
                return self._load(view) if not view.shape else view
            case ast.BinOp(left, op, right):
                return self._calculate(node, op, self._scalar(left), self._scalar(right))
            case ast.UnaryOp(ast.USub(), operand):
                return self._minus(self._scalar(operand))
            case ast.UnaryOp(ast.Not(), operand):
                return Value(BOOL, self.ir.let(f"xor i1 {self._bool(operand).name}, true"))
            case ast.Compare(left, ops, rest):
                return self._compare(node, left, ops, rest)
            case ast.BoolOp(connective, operands):
                return self._short_circuit(isinstance(connective, ast.And), operands)
            case ast.IfExp(test, body, orelse):
                return self._choose(node, self._bool(test), lambda: self._value(body), lambda: self._value(orelse))
            case ast.Call():
                values = self._call(node)
                if len(values) == 1:
                    return values[0]
        raise self._refuse(node, "an unsupported expression")

    def _scalar(self, node: ast.expr) -> Value:
        value = self._value(node)
        if not isinstance(value.type, str):
            raise self._refuse(node, "an array where a number is needed")
        return value

    def _bool(self, node: ast.expr) -> Value:
        return self._as(node, self._value(node), BOOL)

    def _view(self, node: ast.expr) -> Value:
        value = self._value(node)
        if not isinstance(value.type, ArrayType):
            raise self._refuse(node, "a number where an array is needed")
        return value

    def _named(self, node: ast.expr, name: str) -> Value:
        if name in self.variables or name in self.fixed:
            return self._read(name)
        constant = self.function.__globals__.get(name)
        if not isinstance(constant, bool | int | float):
            raise self._refuse(node, "neither a variable of this function nor a numerical constant of its module")
        return _constant(constant)

    def _element(self, node: ast.Subscript) -> Value:
        """The part of an array selected by an index; an element has no shape."""
        view = self._view(node.value)
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else (node.slice,)
        if len(indices) > len(view.shape):
            raise self._refuse(node, f"the array has {len(view.shape)} dimensions")
        position = "0"
        for k, index in enumerate(indices):
            i = self._as(index, self._value(index), INT).name
            position = i if k == 0 else self.ir.let(f"add nsw i64 {position}, {i}")
            if k + 1 < len(view.shape):
                position = self.ir.let(f"mul nsw i64 {position}, {view.shape[k + 1]}")
        for length in view.shape[len(indices) + 1 :]:
            position = self.ir.let(f"mul nsw i64 {position}, {length}")
        element, shape = _element_type(view), view.shape[len(indices) :]
        pointer = self.ir.let(f"getelementptr inbounds {element}, ptr {view.name}, i64 {position}")
        return Value(ArrayType(element, len(shape)), pointer, shape)

    def _load(self, view: Value) -> Value:
        element = _element_type(view)
        loaded = self.ir.let(f"load {element}, ptr {view.name}{self.lanes}")
        return Value(BOOL, self.ir.let(f"icmp ne i8 {loaded}, 0")) if element == "i8" else Value(element, loaded)

    def _alike(self, node: ast.AST, *values: Value) -> tuple[Value, ...]:
        """The operands, converted to floats if one of them is a float."""
        type_ = FLOAT if any(value.type == FLOAT for value in values) else values[0].type
        return tuple(self._as(node, value, type_) for value in values)

    def _calculate(self, node: ast.AST, op: ast.operator, left: Value, right: Value) -> Value:
        if isinstance(op, ast.Div):
            left, right = self._as(node, left, FLOAT), self._as(node, right, FLOAT)
            return Value(FLOAT, self.ir.let(f"fdiv {FAST} double {left.name}, {right.name}"))
        if isinstance(op, ast.FloorDiv | ast.Mod) and left.type == right.type == INT:  # of non-negative values
            how = "sdiv" if isinstance(op, ast.FloorDiv) else "srem"
            return Value(INT, self.ir.let(f"{how} i64 {left.name}, {right.name}"))
        if type(op) not in CALCULATED or BOOL in (left.type, right.type):
            raise self._refuse(node, "an unsupported arithmetic operation")
        left, right = self._alike(node, left, right)
        how = f"f{CALCULATED[type(op)]} {FAST}" if left.type == FLOAT else f"{CALCULATED[type(op)]} nsw"
        return Value(left.type, self.ir.let(f"{how} {left.type} {left.name}, {right.name}"))

    def _minus(self, value: Value) -> Value:
        if value.type == FLOAT:
            return Value(FLOAT, self.ir.let(f"fneg {FAST} double {value.name}"))
        if re.fullmatch(r"\d+", value.name):
            return Value(INT, f"-{value.name}")
        return Value(INT, self.ir.let(f"sub nsw i64 0, {value.name}"))

    def _compare(self, node: ast.AST, left: ast.expr, ops: Sequence[ast.cmpop], rest: Sequence[ast.expr]) -> Value:
        result, first = "true", self._scalar(left)
        for op, other in zip(ops, rest, strict=True):
            second = self._scalar(other)
            holds = self._holds(node, COMPARED[type(op)], first, second)
            result, first = (holds if result == "true" else self.ir.let(f"and i1 {result}, {holds}")), second
        return Value(BOOL, result)

    def _holds(self, node: ast.AST, how: str, first: Value, second: Value) -> str:
        a, b = self._alike(node, first, second)
        if a.type == FLOAT:
            return self.ir.let(f"fcmp {FAST} o{how} double {a.name}, {b.name}")
        sign = "" if how in ("eq", "ne") else "s"
        return self.ir.let(f"icmp {sign}{how} {a.type} {a.name}, {b.name}")

    def _short_circuit(self, every: bool, values: Sequence[ast.expr]) -> Value:
        (name, end) = self._label("logic", "known")
        self._declare(name, BOOL)
        for k, value in enumerate(values):
            number = self._bool(value)
            self.ir.say(f"store i1 {number.name}, ptr %v.{name}")
            if k + 1 < len(values):
                (more,) = self._label("more")
                self.ir.branch(number.name, *((more, end) if every else (end, more)), more)
        self.ir.go(end)
        return Value(BOOL, self.ir.let(f"load i1, ptr %v.{name}"))

    def _choose(self, node: ast.AST, condition: Value, yes: Callable[[], Value], no: Callable[[], Value]) -> Value:
        one_way, other_way, end = self._label("yes", "no", "chosen")
        (name,) = self._label("choice")
        self.ir.branch(condition.name, one_way, other_way)
        self._write(node, name, yes())
        self.ir.go(end, other_way)
        self._write(node, name, no())
        self.ir.go(end)
        return self._read(name)

    # -- calls -----------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Sequence[Value]:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise self._refuse(node, "an unsupported call")
        match node.func.id, node.args:
            case "sqrt", [x]:
                return (self._intrinsic("sqrt", self._as(x, self._value(x), FLOAT)),)
            case "abs", [x]:
                number = self._scalar(x)
                if number.type == FLOAT:
                    return (self._intrinsic("fabs", number),)
                return (self._least(node, "gt", [number, self._minus(number)]),)
            case ("min" | "max") as name, [_, _, *_]:
                return (self._least(node, "lt" if name == "min" else "gt", [self._scalar(x) for x in node.args]),)
            case "float", [x]:
                return (self._as(x, self._value(x), FLOAT),)
            case "int", [x]:
                number = self._scalar(x)
                how = "fptosi double" if number.type == FLOAT else "zext i1"
                return (Value(INT, self.ir.let(f"{how} {number.name} to i64")),)
            case "len", [x]:
                return (Value(INT, self._view(x).shape[0]),)
        return self._call_function(node, node.func.id)

    def _intrinsic(self, name: str, x: Value) -> Value:
        return Value(FLOAT, self.ir.let(f"call {FAST} double @llvm.{name}.f64(double {x.name})"))

    def _least(self, node: ast.AST, how: str, values: Sequence[Value]) -> Value:
        least, *others = self._alike(node, *values)
        for other in others:
            holds = self._holds(node, how, other, least)
            fast = f"{FAST} " if least.type == FLOAT else ""
            selection = f"select {fast}i1 {holds}, {least.type} {other.name}, {least.type} {least.name}"
            least = Value(least.type, self.ir.let(selection))
        return least

    def _call_function(self, node: ast.Call, name: str) -> Sequence[Value]:
        function = self.function.__globals__.get(name)
        if not isinstance(function, FunctionType):
            raise self._refuse(node, "not a function known in the module")
        function = cast(FunctionType, inspect.unwrap(function))
        interface = interface_of(function)
        if function not in self.listed:
            self.listed.append(function)
        given = self._arguments(node, interface)
        call = f"call {_returned(interface)} @{name}({', '.join(given)})"
        if not interface.returns:
            self.ir.say(call)
            return ()
        result = self.ir.let(call)
        if len(interface.returns) == 1:
            return (Value(interface.returns[0], result),)
        whole = _returned(interface)
        return [
            Value(type_, self.ir.let(f"extractvalue {whole} {result}, {k}"))
            for k, type_ in enumerate(interface.returns)
        ]

    def _arguments(self, node: ast.Call, interface: Interface) -> list[str]:
        values = [self._value(x) for x in node.args]
        if len(values) != len(interface.parameters):
            raise self._refuse(node, f"{len(values)} arguments for {len(interface.parameters)} parameters")
        given = []
        for value, (name, type_) in zip(values, interface.parameters, strict=True):
            converted = self._as(node, value, type_)
            words = zip(_parts(name, type_), (converted.name, *converted.shape), strict=True)
            given += [f"{part} {x}" for (part, _), x in words]
        return given


def _parts(name: str, type_: Type) -> list[tuple[str, str]]:
    """The registers that hold a value, (type, name) each: a number; an array's pointer and its shape."""
    if isinstance(type_, str):
        return [(type_, name)]
    if isinstance(type_, RecordType):
        return [("ptr", name)]
    return [("ptr", name), *((INT, f"{name}.{k}") for k in range(type_.ndim))]


def _value(type_: Type, name: str, *shape: str) -> Value:
    """The value that these registers hold."""
    return Value(type_, name, shape)


def _element_type(array: Value) -> str:
    assert isinstance(array.type, ArrayType)
    return array.type.element


def _returned(interface: Interface) -> str:
    types = interface.returns
    return types[0] if len(types) == 1 else f"{{{', '.join(types)}}}" if types else "void"


def _constant(value: Any) -> Value:
    if isinstance(value, bool):
        return Value(BOOL, str(value).lower())
    return Value(INT, str(value)) if isinstance(value, int) else Value(FLOAT, exact(value))
