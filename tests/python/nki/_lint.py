"""Reads a kernel's source and reports what lies outside the part of Python that NKI takes."""

import ast
import inspect

IMPORTS = {("nki", None), ("nki.isa", "nisa"), ("nki.language", "nl")}
BUILTINS = {"range", "min", "max", "len", "int", "float", "print"}

STATEMENTS = (ast.Assign, ast.For, ast.If, ast.While, ast.Assert, ast.Return, ast.Expr, ast.Pass)
EXPRESSIONS = (ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.Call, ast.Attribute, ast.Subscript,
               ast.Slice, ast.Tuple, ast.List, ast.Constant, ast.Name)

TENSOR_METHODS = {"slice", "select", "permute", "reshape_dim", "flatten_dims", "expand_dim", "squeeze_dim", "broadcast", "ap"}


def lint(source):
    """The problems, as "line N: text"; none for a kernel that NKI would take."""
    from nki import isa, language

    problems = []

    def report(node, text):
        problems.append(f"line {node.lineno}: {text}")

    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        return [f"line {error.lineno}: {error.msg}"]

    functions = []
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = {(n.name, n.asname) for n in node.names} if isinstance(node, ast.Import) else {None}
            if not names <= IMPORTS:
                report(node, "a kernel imports nki, nki.isa as nisa and nki.language as nl")
        elif isinstance(node, ast.FunctionDef):
            functions.append(node)
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            report(node, "only imports and kernels stand at the top")
    if not functions:
        problems.append("line 1: there is no kernel")

    for function in functions:
        if [ast.dump(d) for d in function.decorator_list] != [ast.dump(ast.parse("nki.jit", mode="eval").body)]:
            report(function, f"{function.name} has the decorator @nki.jit, without arguments, and no other")
        a = function.args
        if a.vararg or a.kwarg or a.kwonlyargs or getattr(a, "posonlyargs", []):
            report(function, "parameters are plain: no *, no /, no **")
        for default in a.defaults:
            if not isinstance(default, ast.Constant):
                report(function, "a default is None, a bool, a number or a string")
        names = {arg.arg for arg in a.args}
        names |= {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for taken in sorted(names & (BUILTINS | {"nki", "nisa", "nl"})):
            report(function, f"'{taken}' hides a name that the kernel needs")
        for statement in function.body:
            for node in ast.walk(statement):
                _check(node, report, isa, language, names)
    return sorted(problems, key=lambda p: int(p.split()[1].rstrip(":")))


def _check(node, report, isa, language, names):
    if isinstance(node, ast.stmt):
        if not isinstance(node, STATEMENTS):
            return report(node, f"{type(node).__name__} is not in the subset")
        if isinstance(node, (ast.For, ast.While)) and node.orelse:
            report(node, "a loop has no else")
        if isinstance(node, ast.For):
            call = node.iter
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"):
                report(node, "a for loop runs over range(...)")
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if not isinstance(target, (ast.Name, ast.Tuple)):
                    report(node, "only variables are assigned; tensors are written by nisa instructions")
        if isinstance(node, ast.Expr) and not isinstance(node.value, (ast.Call, ast.Constant)):
            report(node, "a value that nobody uses")
    elif not isinstance(node, ast.expr):
        return  # part of a statement or an expression that is looked at as a whole
    elif not isinstance(node, EXPRESSIONS):
        report(node, f"{type(node).__name__} is not in the subset")
    elif isinstance(node, ast.Compare):
        for op in node.ops:
            if isinstance(op, (ast.Is, ast.IsNot)):
                report(node, "'is' is not in the subset; use == or !=")
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, int) and not -(2**31) <= node.value < 2**31:
            report(node, f"{node.value} does not fit 32 bits")
        if not (node.value is None or isinstance(node.value, (bool, int, float, str))):
            report(node, f"{node.value!r} is no value of the subset")
    elif isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load) and node.id not in names | BUILTINS | {"nki", "nisa", "nl"}:
            report(node, f"'{node.id}' is not defined in the kernel")
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        module = {"nisa": isa, "nl": language}.get(node.value.id)
        if module is not None and not hasattr(module, node.attr):
            report(node, f"there is no {node.value.id}.{node.attr}")
    elif isinstance(node, ast.Call):
        _check_call(node, report, isa, language)


def _check_call(node, report, isa, language):
    function = node.func
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        return report(node, "a call has no * and no **")
    if isinstance(function, ast.Name):
        if function.id not in BUILTINS:
            report(node, f"a kernel does not call {function.id}()")
        return
    if not isinstance(function, ast.Attribute):
        return report(node, "a call names its function")
    if isinstance(function.value, ast.Name) and function.value.id in ("nisa", "nl"):
        target = getattr({"nisa": isa, "nl": language}[function.value.id], function.attr, None)
        if target is None:
            return  # reported as an attribute
        known = getattr(target, "parameters", None) or list(inspect.signature(target).parameters)
        for keyword in node.keywords:
            if keyword.arg not in known:
                report(node, f"{function.value.id}.{function.attr} has no parameter '{keyword.arg}'")
            if keyword.arg in ("buffer", "dtype", "engine", "dge_mode") and isinstance(keyword.value, ast.Constant):
                report(node, f"{keyword.arg} is an object of nl or nisa, not {keyword.value.value!r}")
    elif function.attr not in TENSOR_METHODS:
        report(node, f"a tensor has no method {function.attr} in the subset")
