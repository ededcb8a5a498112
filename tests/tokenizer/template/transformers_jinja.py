"""The Jinja environment in which the transformers library renders chat templates.

Rebuilt from transformers/utils/chat_template_utils.py (Apache-2.0) so that tests need only the jinja2 package, whose
oldest supported version is 3.1.6 in behaviour: the two rules in which 3.1.2 (Debian 12) differs are patched in below.
"""

import datetime
import json

import jinja2
from jinja2 import ext, idtracking, nodes, sandbox

RENDER_TIME = datetime.datetime(2026, 8, 22, 12, 30, 5)

# jinja2 3.1.6 forbids these two list methods as well.
sandbox._mutable_spec = tuple(
    (kind, names | {"clear", "pop"}) if "append" in names and "insert" in names else (kind, names)
    for kind, names in sandbox._mutable_spec
)


def _branch_update(self, branch_symbols):
    """Symbols.branch_update of jinja2 3.1.6: a name set in any branch may also keep its outer value."""
    stores = set()
    for branch in branch_symbols:
        stores.update(branch.stores)
    stores.difference_update(self.stores)
    for sym in branch_symbols:
        self.refs.update(sym.refs)
        self.loads.update(sym.loads)
        self.stores.update(sym.stores)
    for name in stores:
        target = self.find_ref(name)
        if self.parent is not None:
            outer_target = self.parent.find_ref(name)
            if outer_target is not None:
                self.loads[target] = (idtracking.VAR_LOAD_ALIAS, outer_target)
                continue
        self.loads[target] = (idtracking.VAR_LOAD_RESOLVE, name)


idtracking.Symbols.branch_update = _branch_update


class Generation(ext.Extension):
    """{% generation %}: marks the assistant's text; renders its body."""

    tags = {"generation"}

    def parse(self, parser):
        lineno = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(lineno)

    def _render(self, caller):
        return caller()


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env = sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, ext.loopcontrols]
    )
    env.filters["tojson"] = tojson
    env.filters["from_json"] = json.loads  # not in transformers; octet has it for templates of other engines
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = RENDER_TIME.strftime
    return env


class Template:
    """A template that is compiled once."""

    def __init__(self, source):
        try:
            self._template, self._error = environment().from_string(source), None
        except Exception as e:  # syntax errors, but also what CPython's compiler refuses
            self._template, self._error = None, f"{type(e).__name__}: {e}"

    def render(self, variables):
        """(text, None), or (None, message) if the template does not compile or raises."""
        if self._template is None:
            return None, self._error
        try:
            return self._template.render(**variables), None
        except Exception as e:  # anything that Python raises counts as a refusal
            return None, f"{type(e).__name__}: {e}"
