#!/usr/bin/env python3
"""Writes golden.json: small templates and what jinja2 makes of them in the environment of transformers.

Every case is a template; all share the variables below. Cases that Python refuses are kept with "raises": true, and
octet must refuse them too. Run it with a Python that has jinja2 3.1: python3 make_golden.py
"""

import json
import os

import transformers_jinja

VARIABLES = {
    "none_value": None, "yes": True, "no": False, "n": 7, "big": 12345678901234567890, "x": 2.5, "tiny": 1e-05,
    "huge": 1e16, "one": 1.0, "s": "Hello World", "e": "", "uni": "naïve 你好 👍", "quote": "it's \"q\"",
    "lines": "a\nbb\n\n  ccc\n", "html": "<a href='x'>&</a>", "padded": " \t pad \n",
    "list": [3, 1, 2], "words": ["banana", "Apple", "cherry"], "empty": [], "nested": {"a": {"b": [1, {"c": "d"}]}},
    "d": {"z": 1, "a": "two", "M": None, "f": 1.0, "t": True}, "items": {"items": 1, "keys": 2, "k": 3},
    "users": [{"name": "Bob", "age": 30, "tags": ["x"]}, {"name": "alice", "age": 25}, {"name": "Carl", "age": 30, "admin": True}],
    "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U1"}, {"role": "assistant", "content": "A1"},
                 {"role": "user", "content": "U2"}],
    "global_name": "G",
}

CASES = r'''
== white space
a {% if yes %} b {% endif %} c
---
a {%- if yes -%} b {%- endif -%} c
---
  {% if yes %}
    x
  {% endif %}
y
---
  {%+ if yes %}
x
  {%+ endif %}
y
---
{% if yes +%}
x{% endif +%}
y
---
{{ n }}
{{ n }}

---
	{% set a = 1 %}	
{{- a -}}   
z
---
a{# comment #}b
---
a
  {# comment #}
b
---
a {#- comment -#} b
---
a{# multi
line #}
b
---
{%- for i in list %}
  {{ i }}
{%- endfor %}

end
---
{% raw %}{{ x }} {% if %}{% endraw %}
---
  {% raw %}
  {{ x }}
  {% endraw %}
end
---
a {%- raw -%}  b  {%- endraw -%} c
---
{%- raw %} {# keep #} {% endraw +%}
x
---
{{ '{{' }} {{ "%}" }} {{ {'a': {'b': 1}}['a'] }}
---
{{- ' a ' -}} b {{ " c " }}
---
x {{ n -}}   
   y
---
{% if yes %}1{% endif %}
{% if yes %}2{% endif %}
---
{{n}}{%if yes%}{{n}}{%endif%}
---
text with { brace and } and % and # and {x}
---
{%
  if yes
%}
ok
{%
endif
%}
== literals
{{ 'a\nb\t\\c\'d\"e' }}|{{ "\x41\u00e9\U0001F600\101" }}|{{ '\d\q' }}
---
{{ 'a' 'b' "c" }}
---
{{ 1_000 }} {{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 1e3 }} {{ 1.5e-3 }} {{ 1_0.5 }}
---
{{ true }} {{ True }} {{ false }} {{ none }} {{ None }}
---
{{ [1, 'a', none, true, 1.0, [], {}, ()] }}
---
{{ (1,) }} {{ () }} {{ (1, 2) }} {{ 1, 2 }}
---
{{ {'a': 1, "b": [1, 2], 3: none, true: false} }}
---
{{ {'a': 1, 'a': 2} }} {{ {1: 'x', 1.0: 'y', true: 'z'} }}
---
{{ [1, 2,] }} {{ {'a': 1,} }}
---
{{ quote }} {{ [quote] }} {{ ["it's"] }} {{ ['"'] }}
---
{{ [uni, '\n\t\r\\\x00\x7f\xa0\u200b'] }}
---
{{ 0.1 }} {{ 1.0 }} {{ 1e16 }} {{ 1e15 }} {{ 123456789.123 }} {{ 1e-4 }} {{ 1e-5 }} {{ 1e22 }} {{ 5e-324 }} {{ 1e400 }}
---
{{ big }} {{ x }} {{ tiny }} {{ huge }} {{ one }}
---
{{ 9223372036854775807 }} {{ 99999999999999999999 }}
== operators
{{ 1 + 2 * 3 }} {{ (1 + 2) * 3 }} {{ 2 ** 3 ** 2 }} {{ -2 ** 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }}
---
{{ 7 / 2 }} {{ 6 / 2 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 2 ** -1 }} {{ 1 / 3 }}
---
{{ 1 + 1.0 }} {{ true + 1 }} {{ 3 * 1.5 }} {{ 10 - 2.5 }}
---
{{ 'a' + 'b' }} {{ 'ab' * 3 }} {{ 3 * 'ab' }} {{ [1] + [2] }} {{ [1] * 2 }} {{ (1,) + (2,) }} {{ 'a' * -1 }}|
---
{{ 'a' ~ 1 ~ none ~ true ~ 1.0 ~ [1] ~ missing }}
---
{{ 1 ~ 2 + 3 }}
---
{{ 'a' + n | string + 'b' }} {{ messages|length - 1 }} {{ -1|abs }} {{ 2 * list|first }}
---
{{ not yes or yes }} {{ not (yes or yes) }} {{ yes and e or 'z' }} {{ e or empty or 0 }} {{ 1 and 2 }} {{ none and 1 }}
---
{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 }} {{ true == 1 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ 'a' == 'A' }} {{ 1 != 2 }}
---
{{ 'ell' in s }} {{ 1 in list }} {{ 9 not in list }} {{ 'a' in d }} {{ 'q' in d }} {{ '' in s }} {{ 1 in (1, 2) }} {{ none in [none] }}
---
{{ 'a' in missing }} {{ missing in [1] }}
---
{{ 'x' if yes else 'y' }} {{ 'x' if no }}| {{ 'a' if no else 'b' if no else 'c' }} {{ ('x' if no) is undefined }}
---
{{ not 1 == 2 }} {{ not 'a' in s }} {{ 1 if 0 or 1 else 2 }}
---
{{ [1, 2] == [1, 2] }} {{ (1, 2) == [1, 2] }} {{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1} }} {{ missing == other_missing }} {{ none == missing }}
---
{{ +3 }} {{ -x }} {{ - - 3 }} {{ 3--3 }}
---
{{ 1 + 'a' }}
---
{{ 'a' + 1 }}
---
{{ [1] + (2,) }}
---
{{ 1 / 0 }}
---
{{ 1 % 0 }}
---
{{ 1 < 'a' }}
---
{{ none < 1 }}
---
{{ 1 in 5 }}
---
{{ 1 in 'abc' }}
---
{{ -'a' }}
---
{{ missing + 1 }}
---
{{ 'a' + missing }}
---
{{ missing < 1 }}
---
{{ '%s is %d years, %5.2f|%-5s|%05d|%x|%%' % ('Bob', 30, 1.5, 'ab', 42, 255) }}
---
{{ '%(a)s-%(b)r' % {'a': 1, 'b': 'x'} }} {{ 'one %s' % 'arg' }} {{ '%s' % [1] }} {{ '%+d % d %e %g' % (1, 2, 3.5, 0.0001) }}
---
{{ '%d' % 'x' }}
---
{{ '%s %s' % 'x' }}
== access
{{ nested.a.b.1.c }} {{ nested['a']['b'][0] }} {{ nested.a['b'][-1]['c'] }}
---
{{ nested.q }}|{{ nested.q is defined }}|{{ list[10] }}|{{ list['x'] }}|{{ none_value.x }}|{{ n.x }}|{{ s.nothing }}
---
{{ nested.q.r }}
---
{{ missing.r }}
---
{{ missing['r'] }}
---
{{ missing() }}
---
{{ n() }}
---
{{ items.items() | list }} {{ items['items'] }} {{ items.k }} {{ items.keys() | list }}
---
{{ s[0] }}{{ s[-1] }}{{ s[100] }}|{{ uni[2] }}{{ uni[-1] }}
---
{{ s[1:] }} {{ s[:-1] }} {{ s[::-1] }} {{ s[::2] }} {{ s[2:5] }} {{ s[-3:] }} {{ s[5:2] }}| {{ s[100:] }}|{{ uni[1:4] }} {{ uni[::-1] }}
---
{{ list[1:] }} {{ list[:-1] }} {{ list[::-1] }} {{ list[5:] }} {{ (1, 2, 3)[1:] }} {{ list[none:2] }} {{ list[-2:-1] }} {{ list[2:0:-1] }}
---
{{ range(10)[2:8:3] | list }} {{ range(3) }} {{ range(1, 10, 4) | list }} {{ range(5, 0, -2) | list }} {{ range(3)[1] }} {{ range(0) | list }}
---
{{ s[::0] }}
---
{{ n[1:] }}
---
{{ none_value[1:] }}
---
{{ d[1:] }}
---
{{ list['a':] }}
---
{{ list.append(1) }}
---
{{ d.update({'a': 1}) }}
---
{{ list.pop() }}
---
{{ list.append }}|{{ list.append is defined }}
---
{{ s.__class__ }}
---
{{ d['get']('z') }} {{ s['upper']() }} {{ d|attr('get') is callable }}
---
{{ users[0].name }} {{ users.0.name }} {{ users[1]['tags'] is defined }}
---
{{ {'a.b': 1}['a.b'] }} {{ {1: 'x'}[1] }} {{ {(1, 2): 'x'}[1, 2] }}
---
{{ {[1]: 2} }}
---
{{ {'a': 1}[[1]] }}|
== statements
{% for i in list %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }};{% endfor %}
---
{% for i in list %}[{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }}]{% endfor %}
---
{% for i in empty %}x{% else %}none{% endfor %} {% for i in missing %}x{% else %}undef{% endfor %}
---
{% for i in [1] %}{% break %}{% else %}E{% endfor %} {% for i in [1, 2] %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% else %}E{% endfor %}
---
{% for i in [1, 2] %}{% continue %}{% else %}E{% endfor %}
---
{% for i in range(10) %}{% if i is odd %}{% continue %}{% endif %}{% if i > 6 %}{% break %}{% endif %}{{ i }}{% endfor %}
---
{% for k, v in d.items() %}{{ k }}={{ v }},{% endfor %} {% for k in d %}{{ k }}{% endfor %} {% for k, v in d|items %}{{ loop.index }}{{ k }}{% endfor %}
---
{% for a, (b, c) in [(1, (2, 3)), [4, [5, 6]]] %}{{ a }}{{ b }}{{ c }};{% endfor %}
---
{% for c in 'héy' %}{{ c }}-{% endfor %}
---
{% for u in users if u.age == 30 %}{{ loop.index }}{{ u.name }}{{ loop.last }}{{ loop.length }} {% endfor %}
---
{% for i in [1, 2, 3] if i > 5 %}{{ i }}{% else %}nothing{% endfor %}
---
{% set ns = namespace(max=0) %}{% for i in [1, 2, 1, 3] if i > ns.max %}{% set ns.max = i %}{{ i }}{% endfor %}
---
{% for i in [1, 2] %}{% for j in [3, 4] %}{{ loop.index }}{{ i }}{{ j }} {% endfor %}{{ loop.index }};{% endfor %}
---
{% for i in list %}{{ loop.cycle('a', 'b') }}{{ loop.depth }}{% endfor %} {% for i in [1, 1, 2] %}{{ loop.changed(i) }}{% endfor %}
---
{% for u in [{'n': 1, 'c': [{'n': 2, 'c': []}, {'n': 3, 'c': [{'n': 4, 'c': []}]}]}] recursive %}{{ u.n }}:{{ loop.depth }}[{{ loop(u.c) }}]{% endfor %}
---
{% for a, b in [(1, 2, 3)] %}{% endfor %}
---
{% for i in 5 %}{% endfor %}
---
{% for i in none_value %}{% endfor %}
---
{% if n > 5 %}a{% elif n > 3 %}b{% else %}c{% endif %}{% if no %}a{% elif yes %}b{% endif %}{% if e %}{% else %}z{% endif %}
---
{% set a = 1 %}{% set b, c = 2, 3 %}{% set (q, r) = [4, 5] %}{{ a }}{{ b }}{{ c }}{{ q }}{{ r }}
---
{% set a, b = [1] %}
---
{% set t = 1, 2 %}{{ t }}
---
{% set ns = namespace(a=1, b='x') %}{% set ns.a = ns.a + 1 %}{% set ns.new = [1] %}{{ ns.a }}{{ ns.b }}{{ ns.new }}{{ ns.q is defined }}
---
{% set ns = namespace() %}{% set ns.a, ns.b = 1, 2 %}
---
{% set d.x = 1 %}
---
{% set text %}a {{ n }} b{% endset %}{{ text|upper }}{{ text|length }}
---
{% set text | upper | replace('A', 'x') %}abc{% endset %}{{ text }}
---
{% filter upper %}abc {{ s }}{% endfilter %} {% filter replace('a', 'b') | upper %}aaa{% endfilter %}
---
{% with a = 1, b = n %}{{ a }}{{ b }}{% set c = 3 %}{% endwith %}{{ a is defined }}{{ c is defined }}
---
{% with %}{% set c = 3 %}{{ c }}{% endwith %}{{ c is defined }}
---
{% print n, s %}
---
{% block title %}T{{ n }}{% endblock %}
---
{% generation %}G{{ n }}{% set inner = 1 %}{% endgeneration %}{{ inner is defined }}
---
{% if yes: %}colon{% endif %}
== scoping
{% set a = 1 %}{% for i in [1, 2] %}{{ a }}{% set a = 5 %}{{ a }}{% endfor %}{{ a }}
---
{% set found = false %}{% for i in list %}{% if i == 1 %}{% set found = true %}{% endif %}{% endfor %}{{ found }}
---
{% if yes %}{% set a = 'leaked' %}{% endif %}{{ a }}
---
{% if no %}{% set global_name = 1 %}{% endif %}{{ global_name }}
---
{% for i in [1] %}{{ global_name }}{% endfor %}{% set global_name = 'L' %}{{ global_name }}
---
{% set global_name %}[{{ global_name }}]{% endset %}{{ global_name }}
---
{{ global_name }}{% set global_name = global_name ~ '!' %}{{ global_name }}
---
{% macro m() %}{{ v }}{% endmacro %}{% set v = 2 %}{{ m() }}{% set v = 3 %}{{ m() }}
---
{% macro m() %}{% set v = 9 %}{{ v }}{% endmacro %}{% set v = 2 %}{{ m() }}{{ v }}
---
{% macro m() %}{{ global_name }}{% endmacro %}{% for global_name in ['loopvar'] %}{{ m() }}{% endfor %}
---
{% for i in [1, 2] %}{% macro m(x) %}{{ i }}{{ x }}{% endmacro %}{{ m('a') }}{% endfor %}{{ m is defined }}
---
{% for i in [1, 2] %}{% if loop.first %}{% set z = 'first' %}{% endif %}{{ z }},{% endfor %}
---
{% for tool in [{'f': 1}, {'f': 2}] %}{% set tool = tool.f %}{{ tool }}{% endfor %}
---
{% for i in [1, 2] %}{{ i }}{% endfor %}{{ i is defined }}{{ loop is defined }}
---
{% for i in [1] %}{% set loop = 1 %}{% endfor %}
---
{% for loop in [1] %}{% endfor %}
---
{% set x = x %}{{ x }} {% set none_value = 1 if none_value else 2 %}{{ none_value }}
---
{% macro outer() %}{% set a = 1 %}{% macro inner() %}{{ a }}{% endmacro %}{{ inner() }}{% endmacro %}{{ outer() }}
---
{% set ns = namespace(f=none) %}{% macro m(x) %}<{{ x }}>{% endmacro %}{% set ns.f = m %}{{ ns.f(1) }}
---
{% filter upper %}{% set v = 'in' %}{{ v }}{% endfilter %}{{ v is defined }}
== macros
{% macro f(a, b=2, c='x') %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ f(1) }} {{ f(1, 3) }} {{ f(1, c='y') }} {{ f(b=5, a=4) }} {{ f() }}
---
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, 2) }}
---
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(q=2) }}
---
{% macro f(a) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, 3, k=4) }}
---
{% macro fact(n) %}{% if n <= 1 %}1{% else %}{{ n * fact(n - 1)|int }}{% endif %}{% endmacro %}{{ fact(10) }}
---
{% macro f() %} x {% endmacro %}{% if f() == ' x ' %}same{% endif %}{{ f()|length }}{{ f().strip() ~ '!' }}
---
{% macro wrap(t) %}<{{ t }}>{{ caller() }}</{{ t }}>{% endmacro %}{% call wrap('b') %}text {{ n }}{% endcall %}
---
{% macro each(xs) %}{% for x in xs %}{{ caller(x, loop.index) }}{% endfor %}{% endmacro %}{% call(v, i) each(list) %}{{ i }}:{{ v }} {% endcall %}
---
{% macro f() %}{{ caller is defined }}{% endmacro %}{{ f() }}
---
{% macro f() %}x{% endmacro %}{% call f() %}y{% endcall %}
---
{% macro f(a, b=a) %}{{ b }}{% endmacro %}{{ f(3) }}
---
{% macro f(a, b) %}{{ b is defined }}{% endmacro %}{{ f(1) }}{{ f.name }}{{ f.arguments }}
---
{% macro f(*a) %}{% endmacro %}
---
{% set args = [1, 2] %}{% set kw = {'c': 3} %}{% macro f(a, b, c) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ f(*args, **kw) }}
---
{% macro rec(v, depth=0) %}{% if v is mapping %}{% for k, w in v|dictsort %}{{ '  ' * depth }}{{ k }}:
{{ rec(w, depth + 1) }}{% endfor %}{% else %}{{ '  ' * depth }}{{ v }}
{% endif %}{% endmacro %}{{ rec(nested) }}
== tests
{{ missing is defined }} {{ n is defined }} {{ missing is undefined }} {{ none_value is none }} {{ n is not none }} {{ missing is none }}
---
{{ s is string }} {{ n is number }} {{ x is number }} {{ yes is number }} {{ yes is boolean }} {{ n is boolean }} {{ n is integer }} {{ x is integer }} {{ x is float }} {{ yes is integer }} {{ big is integer }}
---
{{ d is mapping }} {{ list is mapping }} {{ list is sequence }} {{ s is sequence }} {{ d is sequence }} {{ n is sequence }} {{ missing is sequence }} {{ (1,) is sequence }} {{ d.items() is sequence }} {{ none_value is sequence }}
---
{{ list is iterable }} {{ s is iterable }} {{ d is iterable }} {{ n is iterable }} {{ missing is iterable }} {{ none_value is iterable }} {{ d.items() is iterable }} {{ (list|map('string')) is iterable }} {{ (list|map('string')) is sequence }}
---
{{ yes is true }} {{ 1 is true }} {{ no is false }} {{ 0 is false }} {{ 3 is odd }} {{ 4 is even }} {{ 9 is divisibleby 3 }} {{ 9 is divisibleby(2) }}
---
{{ 1 is eq 1 }} {{ 1 is equalto(2) }} {{ 1 is ne 2 }} {{ 2 is gt 1 }} {{ 2 is lessthan 1 }} {{ 1 is in [1] }} {{ 'a' is in 'abc' }} {{ 'a' is not in ['b'] }} {{ 2 is ge(2) }} {{ 1 is sameas 1 }} {{ none is sameas none }}
---
{{ 'abc' is lower }} {{ 'ABC' is upper }} {{ 'aB' is lower }} {{ '1' is lower }} {{ 'upper' is filter }} {{ 'nothing' is filter }} {{ 'odd' is test }} {{ namespace is callable }} {{ n is callable }} {{ (s|safe) is escaped }}
---
{{ n is string or s is string and yes }} {{ not n is string }} {{ (n is string) ~ 'x' }} {{ n is divisibleby 7 and yes }}
---
{{ n is nonsense }}
---
{% if no %}{{ n is nonsense }}{{ n | nonsense }}{% endif %}ok
---
{{ n | nonsense }}
---
{{ 1 is defined is defined }}
---
{{ 'a' is odd }}
---
{{ missing is odd }}
== filters: text
{{ s|upper }} {{ s|lower }} {{ 'hello wORLD-x (y'|title }} {{ 'hELLO wORLD'|capitalize }} {{ n|upper }} {{ none|upper }} {{ padded|trim }}| {{ 'xxaxx'|trim('x') }} {{ missing|trim }}|
---
{{ s|replace('o', '0') }} {{ s|replace('o', '0', 1) }} {{ 'aaa'|replace('', '-') }} {{ 123|replace(2, 'x') }} {{ s|replace('l', '', 2) }}
---
{{ lines|indent }}|{{ lines|indent(2, true) }}|{{ lines|indent(2, blank=true) }}|{{ lines|indent('> ') }}|{{ ''|indent }}|{{ 'a'|indent(2, first=true) }}
---
{{ s|length }} {{ uni|length }} {{ uni|count }} {{ d|length }} {{ missing|length }} {{ 'a b  c-d'|wordcount }} {{ 'ab'|center(7) }}| {{ 'abc'|center(8) }}|
---
{{ 'foo bar baz qux'|truncate(9) }} {{ 'foo bar baz qux'|truncate(9, true) }} {{ 'foo bar baz'|truncate(11) }} {{ 'foo bar baz qux'|truncate(9, false, '!', 0) }}
---
{{ html|e }} {{ html|escape|escape }} {{ html|forceescape }} {{ html|safe }} {{ html|safe|e }} {{ ('<b>'|safe) + '<i>' }} {{ '<i>' + ('<b>'|safe) }} {{ ('<b>'|safe) ~ '<i>' }} {{ [html|safe] }}
---
{{ "Use '"|safe + s + "' <"|safe + d|tojson }} {{ ('<a>'|safe)|upper }} {{ ('<a>'|safe).strip('<') + '<' }} {{ ('<'|safe) * 2 + '<' }} {{ ('<a>'|safe)[1:] + '<' }} {{ ('<'|safe|replace('<', '>')) + '<' }}
---
{{ s|string }} {{ n|string + '1' }} {{ list|string }} {{ true|string }} {{ none|string }} {{ 1.0|string }} {{ d|string }} {{ missing|string }}|
---
{{ 'a b/c?d=é&'|urlencode }} {{ '%s-%s'|format('a', 1) }} {{ '%(x)s'|format(x=1) }}
---
{{ n|length }}
---
{{ none|indent }}
---
{{ 'a'|join }} {{ list|join }} {{ list|join(', ') }} {{ users|join(',', attribute='name') }} {{ d|join('-') }} {{ [1, none, 'x', true]|join('|') }} {{ 'abc'|join('.') }} {{ missing|join(',') }}|{{ list|join(1) }}
---
{{ 5|join }}
== filters: numbers
{{ '42'|int }} {{ '42.7'|int }} {{ 'x'|int }} {{ 'x'|int(5) }} {{ 3.9|int }} {{ -3.9|int }} {{ none|int }} {{ true|int }} {{ ' 12 '|int }} {{ '1_000'|int }} {{ '0x1F'|int(base=16) }} {{ 'ff'|int(0, 16) }} {{ '1e3'|int }} {{ ''|int }} {{ [1]|int(9) }} {{ '-5'|int }}
---
{{ '1.5'|float }} {{ 'x'|float }} {{ 'x'|float(2.5) }} {{ 3|float }} {{ '1e5'|float }} {{ none|float }} {{ 'inf'|float }} {{ '-nan'|float }} {{ ' 1.5 '|float }} {{ '1_0.5'|float }}
---
{{ -5|abs }} {{ -2.5|abs }} {{ 2.5|round }} {{ 3.5|round }} {{ 2.675|round(2) }} {{ 42|round }} {{ 1234.5678|round(-2) }} {{ 2.1|round(0, 'ceil') }} {{ 2.19|round(1, 'floor') }} {{ 42.55|round|int }}
---
{{ list|sum }} {{ users|sum(attribute='age') }} {{ empty|sum }} {{ [1.5, 2]|sum }} {{ [[1], [2]]|sum(start=[]) }} {{ list|min }} {{ list|max }} {{ words|min }} {{ words|max }} {{ words|min(true) }} {{ empty|min }}|{{ users|max(attribute='age') }}
---
{{ 99999999999999999999|int }} {{ '99999999999999999999'|int }} {{ big|string|length }} {{ big == 12345678901234567890 }}
---
{{ missing|int }}
---
{{ missing|abs }}
---
{{ 'a'|abs }}
---
{{ ['a', 'b']|sum }}
== filters: sequences
{{ list|sort }} {{ list|sort(reverse=true) }} {{ words|sort }} {{ words|sort(case_sensitive=true) }} {{ users|sort(attribute='name')|map(attribute='name')|list }} {{ users|sort(attribute='age,name')|map(attribute='name')|join(',') }} {{ users|sort(true, attribute='age')|map(attribute='name')|join }}
---
{{ [1, 'a']|sort }}
---
{{ [none, 1]|sort }}
---
{{ d|dictsort }} {{ d|dictsort(true) }} {{ d|dictsort(reverse=true) }} {{ {'b': 1, 'a': 2}|dictsort(by='value') }}
---
{{ d|dictsort(by='value') }}
---
{{ list|first }} {{ list|last }} {{ empty|first }}|{{ empty|last }}|{{ s|first }}{{ s|last }}{{ d|first }}{{ d|last }}{{ uni|last }}
---
{{ list|reverse|list }} {{ s|reverse }} {{ d|reverse|list }} {{ (1, 2)|reverse|list }} {{ list|list }} {{ 'abc'|list }} {{ d|list }} {{ (1, 2)|list }} {{ missing|list }}
---
{{ [1, 2, 1, 'a', 'A', 1.0, true]|unique|list }} {{ words|unique(true)|list }} {{ users|unique(attribute='age')|map(attribute='name')|list }}
---
{{ users|map(attribute='name')|list }} {{ users|map(attribute='admin', default='?')|list }} {{ words|map('upper')|list }} {{ words|map('replace', 'a', 'o')|join(' ') }} {{ [[1, 2], [3]]|map('first')|list }} {{ [[1, 2], [3, 4]]|map(attribute=1)|list }}
---
{{ users|selectattr('admin')|map(attribute='name')|list }} {{ users|selectattr('age', 'equalto', 30)|list|length }} {{ users|rejectattr('admin', 'defined')|map(attribute='name')|join(',') }} {{ users|selectattr('age', 'gt', 26)|map(attribute='name')|list }} {{ users|selectattr('name', 'in', ['Bob'])|list|length }}
---
{{ [0, 1, '', 'a', none]|select|list }} {{ [0, 1, 2]|reject|list }} {{ range(10)|select('odd')|list }} {{ range(10)|reject('divisibleby', 3)|list }} {{ ['a', 1]|select('string')|list }}
---
{{ (empty|select) is defined }} {% if empty|select %}truthy{% endif %} {% if list|select('gt', 9) %}truthy{% else %}falsy{% endif %} {{ none|map('upper')|list }}
---
{% set g = list|map('string') %}{{ g|list }}{{ g|list }}
---
{{ [{'tags': ['x']}]|map(attribute='tags.0')|list }}
---
{{ users|map(attribute='tags.0')|list }}
---
{{ list|map('string')|length }}
---
{{ (list|map('string'))[0] }}|
---
{{ list|map('string')|last }}
---
{{ list|map('nonsense')|list }}
---
{{ list|map|list }}
---
{{ range(7)|batch(3)|list }} {{ range(7)|batch(3, 'x')|list }} {{ range(7)|slice(3)|list }} {{ range(7)|slice(3, 'x')|list }}
---
{% for g in users|groupby('age') %}{{ g[0] }}:{{ g[1]|map(attribute='name')|join(',') }};{% endfor %}{% for age, us in users|groupby('age') %}{{ age }}{{ us|length }}{% endfor %}{{ users|groupby('admin', default=false)|map('first')|list }}
---
{{ missing|default }}|{{ missing|default('x') }} {{ none|default('x') }} {{ ''|default('x', true) }} {{ 0|d(5, boolean=true) }} {{ n|d('x') }} {{ nested.q|default([])|length }} {{ missing|default(none) }}
---
{{ d|items|list }} {{ missing|items|list }}
---
{{ list|items|list }}
---
{{ d.items() }} {{ d.keys() }} {{ d.values() }} {{ d.items()|list|length }} {{ d.keys()|list|sort(case_sensitive=true) }}
---
{{ list|unknown_kw(1) }}
---
{{ list|sort(nonsense=1) }}
---
{{ list|first(1) }}
== tojson
{{ d|tojson }} {{ nested|tojson }} {{ [1, 1.0, 1e-05, 1e16, 0.1, true, none, 'é"\\\n\t\x01/<>&']|tojson }} {{ uni|tojson }} {{ uni|tojson(ensure_ascii=true) }} {{ '\x7f\u2028'|tojson }} {{ '\x7f'|tojson(true) }}
---
{{ nested|tojson(indent=2) }}
{{ []|tojson(indent=2) }} {{ {}|tojson(indent=2) }} {{ [[], {}, [1]]|tojson(indent=4) }}
---
{{ d|tojson(indent=0) }} {{ list|tojson(indent='--') }} {{ list|tojson(indent=-1) }} {{ list|tojson(indent=true) }}
---
{{ d|tojson(separators=(',', ':')) }} {{ d|tojson(indent=1, separators=(';', '=')) }} {{ {'b': 1, 'a': {'d': 1, 'c': 2}}|tojson(sort_keys=true) }} {{ d|tojson(false, none, none, true) }}
---
{{ {1: 'a', 2.5: 'b', true: 'c', none: 'd'}|tojson }} {{ (1, 2)|tojson }} {{ big|tojson }} {{ ('a'|safe)|tojson }} {{ 'inf'|float|tojson }} {{ [-1, -0.0]|tojson }}
---
{{ missing|tojson }}
---
{{ d.items()|tojson }}
---
{{ {(1, 2): 3}|tojson }}
---
{{ {1: 2, 'a': 3}|tojson(sort_keys=true) }}
---
{{ (list|map('string'))|tojson }}
---
{{ '{"a": [1, 2.0, null, true, "x"]}'|from_json }} {{ ('{"b": 1, "a": 2}'|from_json)|tojson }}
---
{{ 'nonsense'|from_json }}
== methods
{{ 'a,b,c'.split(',') }} {{ 'a,b,c'.split(',', 1) }} {{ ' a  b '.split() }} {{ ' a b c '.split(none, 1) }} {{ ''.split() }} {{ ''.split(',') }} {{ 'a,b,c'.rsplit(',', 1) }} {{ ' a b  c '.rsplit(none, 1) }} {{ 'abc'.split('x') }} {{ 'a,b'.split(sep=',', maxsplit=-1) }}
---
{{ padded.strip() }}| {{ 'xxaxx'.strip('x') }} {{ 'xya'.lstrip('yx') }} {{ 'axy'.rstrip('xy') }} {{ padded.lstrip() }}|{{ padded.rstrip() }}| {{ '\u00a0a\u3000'.strip() }}
---
{{ s.startswith('He') }} {{ s.endswith(('x', 'ld')) }} {{ s.startswith('W', 6) }} {{ s.endswith('o', 0, 5) }} {{ s.startswith('') }} {{ s.startswith('', 100) }}
---
{{ s.find('o') }} {{ s.find('o', 5) }} {{ s.find('z') }} {{ s.rfind('o') }} {{ uni.find('好') }} {{ s.index('W') }} {{ s.count('l') }} {{ s.count('') }} {{ s.count('l', 4) }}
---
{{ s.index('z') }}
---
{{ s.upper() }} {{ s.lower() }} {{ "they're bill's".title() }} {{ 'hELLO'.capitalize() }} {{ s.swapcase() }} {{ 'straße'.upper() }} {{ 'ÀÉ'.lower() }}
---
{{ s.replace('l', 'L') }} {{ s.replace('l', 'L', 1) }} {{ 'a'.replace('', 'x') }} {{ '-'.join(['a', 'b']) }} {{ ''.join([]) }} {{ ', '.join('abc') }}
---
{{ '-'.join([1]) }}
---
{{ lines.splitlines() }} {{ lines.splitlines(true) }} {{ 'a\r\nb\rc\u2028d'.splitlines() }} {{ 'a=b=c'.partition('=') }} {{ 'a=b=c'.rpartition('=') }} {{ 'abc'.partition('x') }} {{ 'abc'.rpartition('x') }}
---
{{ 'prefix_x'.removeprefix('prefix_') }} {{ 'x.txt'.removesuffix('.txt') }} {{ '42'.zfill(5) }} {{ '-42'.zfill(5) }} {{ 'a'.center(4, '*') }} {{ 'ab'.center(5, '*') }} {{ 'a'.ljust(3) }}| {{ 'a'.rjust(3, '.') }}
---
{{ '12'.isdigit() }} {{ ''.isdigit() }} {{ 'a1'.isalnum() }} {{ 'aé'.isalpha() }} {{ ' \t'.isspace() }} {{ 'AB1'.isupper() }} {{ 'ab'.islower() }} {{ 'Ab Cd'.istitle() }} {{ '1.5'.isnumeric() }}
---
{{ '{} {}'.format(1, 'a') }} {{ '{1}{0}'.format('a', 'b') }} {{ '{x}-{y.name}-{z[0]}-{z[1]}'.format(x=1, y=users[0], z=[5, 6]) }} {{ '{{}}'.format() }} {{ '{!r}'.format('a') }} {{ '{:>5}|{:<5}|{:^5}|{:*^7}'.format('a', 'b', 'c', 'd') }}
---
{{ '{:d} {:05d} {:+d} {:x} {:#x} {:,} {:b}'.format(5, 42, 7, 255, 255, 1234567, 5) }} {{ '{:.2f} {:8.3f} {:e} {:g} {:%} {:.1%}'.format(3.14159, 2.5, 12345.678, 0.0001, 0.25, 0.256) }} {{ '{:>{w}}'.format('a', w=4) }} {{ '{:.2}'.format('abc') }} {{ '{}'.format(none) }} {{ '{:,.2f}'.format(1234567.891) }}
---
{{ '{}'.format() }}
---
{{ '{a}'.format() }}
---
{{ '{:d}'.format('x') }}
---
{{ '{'.format() }}
---
{{ d.get('z') }} {{ d.get('q') }} {{ d.get('q', 'def') }} {{ d.get('M', 'def') }} {{ d.copy() == d }} {{ list.index(1) }} {{ list.count(3) }} {{ (1, 2, 1).count(1) }} {{ list.copy() }}
---
{{ list.index(99) }}
---
{{ d.get() }}
---
{{ s.split('') }}
---
{{ s.nothing() }}
---
{{ s.upper(1) }}
---
{{ none_value.strip() }}
== globals
{{ range(3)|list }} {{ range(2, 5)|join }} {{ dict(a=1, b=2) }} {{ dict([('x', 1)], y=2) }} {{ dict({'a': 1}, b=2)|tojson }} {{ namespace(a=1).a }} {{ range(10)|length }} {{ 3 in range(5) }} {{ range(3) == range(0, 3) }}
---
{{ strftime_now('%Y-%m-%d %H:%M:%S %d %B %b') }}|{{ strftime_now('') }}
---
{{ raise_exception('stop: ' + s) }}
---
{% if no %}{{ raise_exception('never') }}{% endif %}fine
---
{{ range(100001) }}
---
{{ range(1, 2, 0) }}
---
{{ range('a') }}
---
{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{% set j = joiner('; ') %}{{ j() }}x{{ j() }}y{{ j() }}
---
{{ undefined_function('x') }}
---
{{ 1 is callable }}
== syntax errors
{% if yes %}
---
{% endif %}
---
{{ n
---
{{ }}
---
{{ 1 + }}
---
{% for in list %}{% endfor %}
---
{% for i list %}{% endfor %}
---
{% set = 1 %}
---
{% set true = 1 %}
---
{% set 'a' = 1 %}
---
{% unknown %}
---
{# open
---
{% raw %} open
---
{{ 'open }}
---
{{ (1 }}
---
{{ 1) }}
---
{{ [1, 2 }}
---
{{ a b }}
---
{{ n | }}
---
{{ n is }}
---
{{ f(a=1, 2) }}
---
{{ f(a=1, a=2) }}
---
{{ 'a' 'b' c }}
---
{% macro %}{% endmacro %}
---
{% macro f(a=1, b) %}{% endmacro %}
---
{% break %}
---
{% for i in list %}{% macro f() %}{% break %}{% endmacro %}{% endfor %}
---
{% include 'x' %}
---
{% import 'x' as y %}
---
{% extends 'x' %}
---
{% if yes %}{% else %}{% elif no %}{% endif %}
---
{% call n %}{% endcall %}
---
{{ n ! }}
---
{{ n $ }}
---
{{ n.  }}
---
{{ '\u12' }}
---
{% block a %}{% endfor %}
== chat templates in miniature
{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] | trim + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] ~ eos_token }}{% endif %}{% endfor %}
---
{%- set ns = namespace(last=-1) -%}
{%- for m in messages -%}
  {%- if m.role == 'user' -%}{%- set ns.last = loop.index0 -%}{%- endif -%}
{%- endfor -%}
{{ ns.last }}
---
{%- if messages[0]['role'] == 'system' %}
    {%- set system = messages[0]['content'] %}
    {%- set rest = messages[1:] %}
{%- else %}
    {%- set rest = messages %}
{%- endif %}
{{- system }}
{%- for m in rest %}
{{- '\n' + m.role + ': ' + m.content }}
{%- if not loop.last %},{% endif %}
{%- endfor %}
---
{%- for index in range(messages|length - 1, -1, -1) %}{% set m = messages[index] %}{{ index }}{{ m.role[0] }}{%- endfor %}
---
{%- for message in messages[::-1] %}{{ loop.revindex0 }}{{ message.role }} {% endfor %}
---
{% set content = '<think>\nhm\n</think>\n\nYes' %}{% if '</think>' in content %}{{ content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') }}|{{ content.split('</think>')[-1].lstrip('\n') }}{% endif %}
---
{{ raise_exception('Conversation roles must alternate') if (messages[0].role == 'user') != (0 % 2 == 0) else 'ok' }}
'''


def cases():
    group, lines = None, []
    for line in CASES.split("\n")[1:]:
        if line.startswith("== ") or line == "---":
            if lines:
                yield group, "\n".join(lines)
            lines = []
            if line.startswith("== "):
                group = line[3:]
        else:
            lines.append(line)
    if lines:
        yield group, "\n".join(lines[:-1])


def main():
    golden = []
    for group, source in cases():
        text, error = transformers_jinja.Template(source).render(VARIABLES)
        case = {"group": group, "template": source}
        if error is None:
            case["text"] = text
        else:
            case["raises"] = error
        golden.append(case)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.json")
    with open(path, "w", encoding="utf-8") as f:
        f.write('{"variables": ' + json.dumps(VARIABLES, ensure_ascii=False) + ',\n"cases": [\n')
        f.write(",\n".join(json.dumps(case, ensure_ascii=False) for case in golden))
        f.write("\n]}\n")
    print(f"{len(golden)} cases, {sum('raises' in case for case in golden)} of which raise")


if __name__ == "__main__":
    main()
