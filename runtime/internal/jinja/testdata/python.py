#!/usr/bin/env python3
"""Writes python.json: what CPython's jinja2 3.1 makes of small templates, with the settings of
Hugging Face's apply_chat_template. Run it to add cases: python3 python.py > python.json"""
import datetime
import json
import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


NOW = datetime.datetime(2024, 2, 5, 7, 8, 9, 12345)
VARS = {
    "s": "Hello, World", "u": "naïve 你好 😀 ß", "e": "", "n": None, "i": 7, "neg": -7, "f": 2.5, "t": True,
    "l": [3, 1, 2], "ls": ["b", "A", "c"], "d": {"b": 1, "a": [1, {"x": None}], "items": "shadow"},
    "o": [{"k": "x", "v": 1}, {"k": "y", "v": 2}, {"k": "x", "v": 3}], "big": 123456789012345678901234567890,
    "nl": "one\ntwo\n\nthree\r\nfour", "html": "<b> & 'q' \"d\"", "num": "42", "fl": "4.5",
}

EXPRS = r"""
s; u; e; n; i; f; t; l; ls; d; o; big; nothing; u|length; u[0]; u[-1]; u[6:8]; u[::-1]; s[1:-1:2]; l[1:]; l[::-1]; l[5:]; l[9]; l[-1]
s.upper(); u.upper(); u.lower(); u.title(); s.title(); "they're bill's"|title; "foo-bar baz"|title; "hELLO wORLD"|capitalize; u.capitalize()
"don't stop".title(); "ǆ".title(); s.swapcase(); s|lower; s|upper; "  x ".strip(); "xxhixx".strip("x"); "xxhixx".lstrip("x"); "xxhixx".rstrip("x")
" \u00a0\u2003x\x1c".strip(); s.split(); s.split(","); s.split(", ", 1); "a  b   c".split(); "a,b,c".rsplit(",", 1); " a b c ".rsplit(None, 1); " a b c ".split(None, 1); "a b".split(" ", -1); "".split(); "".split(","); "aXbX".split("X")
nl.splitlines(); nl.splitlines(true); "a\n".splitlines(); s.partition(", "); s.rpartition("o"); s.partition("zz"); s.rpartition("zz")
s.find("o"); s.rfind("o"); s.find("o", 5); u.find("😀"); s.find("q"); s.index("W"); s.index("q"); s.count("l"); s.count(""); "aaa".count("aa")
s.replace("l", "L"); s.replace("l", "L", 1); s.replace("", "-"); s|replace("l", "L", 2); s.startswith("He"); s.startswith(("x", "H")); s.endswith("ld"); s.startswith("W", 7); s.endswith("o", 0, 5)
"a".zfill(3); "-5".zfill(4); "a".ljust(3) ~ "|"; "a".rjust(3, "."); "ab".center(5) ~ "|"; "ab".center(7, "*"); "abc".center(6, "*"); "x".join(ls); "-".join(l); "abc".isalpha(); "12".isdigit(); "".isdigit(); "a1".isalnum(); " ".isspace(); "Ab".isupper(); "AB1".isupper(); "ab".islower()
s.removeprefix("Hello"); s.removesuffix("x"); "{} {}".format(1, "a"); "{0}{1}{0}".format("a", "b"); "{x}".format(x=5); "{:>5}|{:<5}|{:^5}".format("a", "b", "c"); "{:05d}".format(42); "{:+.2f}".format(3.14159); "{:,}".format(1234567); "{:x}".format(255); "{{}}".format(); "{!r}".format("a"); "{0[k]}".format(o[0]); "{0.k}".format(o[0]); "{:.3}".format("abcdef"); "{:e}".format(12345.678); "{:%}".format(0.25); "{:g}".format(0.0001); "{:*^9}".format("mid"); "{:{}}".format("a", 4) ~ "|"
"%s %d %5.2f %r" % ("a", 3, 2.345, "q"); "%s" % "x"; "%05d" % 42; "%-5d|" % 42; "%x" % 255; "%%" % (); "%(a)s" % {"a": 1}; "%s %s" % "x"; "%d" % "x"; "%s" % n; "%+d" % 3; "%.3s" % "abcdef"; "%c" % "x"; "%5s|" % "ab"; "%s"|format("a"); "%s-%s"|format("a", 1)
i + 1; i - 10; i * 3; i / 2; i // 2; i % 3; neg // 2; neg % 3; neg % -3; 7.5 // 2; -7.5 % 2; 2 ** 10; 2 ** -1; 2 ** 3 ** 2; -2 ** 2; 1 / 3; 1e16; 1e15; 1.0; 0.1 + 0.2; 1e-5; 0.0001; 123456.789; 1e100; 5 // 0; 5 / 0; 5 % 0; 1.5e3; 1_000; 0x1f; 0b11; 0o17; -i; +i; - -i; t + 1; t * 3; not t; not e
s + "x"; s + 1; 1 + s; n + 1; l + [4]; l + (4,); (1,) + (2,); s * 2; 2 * "ab"; l * 2; s * -1; [] * 5; s - 1; l - l; "a" ~ 1 ~ n ~ l ~ 2.0; d + d; "a" * 2.0
1 < 2 < 3; 1 < 3 < 2; 1 == 1.0; 1 == true; "a" < "b"; "a" < 1; [1,2] < [1,3]; (1,) < (1, 0); n == none; n != none; "1" == 1; l == [3,1,2]; d == d; {"a":1,"b":2} == {"b":2,"a":1}; 1 in l; 9 not in l; "ell" in s; 1 in s; n in s; "b" in d; "zz" in d; 1 in n; "x" in nothing; nothing == nothing2; nothing in l
t and s; e or "def"; e and s; n or e; 1 if t; 1 if e; "[" ~ (1 if e) ~ "]"; 1 if e else 2; 1 if t else 2 if e else 3; (1 if e).foo
nothing.x; nothing["x"]; nothing|default("D"); e|default("D"); e|default("D", true); n|default("D"); n|d("D", true); nothing + 1; nothing ~ "x"; nothing(); n.x; n["x"]; n.x.y; l.x; l["x"]; i.x; s.x; s.x.y; d.x; d.x.y; d["items"]; d.b; d["b"]; d.a[1].x; d.get("b"); d.get("zz"); d.get("zz", 5); d.get("zz", default=5); d.keys(); d.values(); d.items(); d.items()|list; d|items|list; d|length; l|length; n|length; i|length; nothing|length
d.update({"x":1}); l.append(1); l.pop(); d.pop("b"); l.sort(); "x".foo(); s(); n(); l(1); s.__class__; l.index(1); l.index(99); l.count(1); (1,2).index(2); (1).bit_length(); f.is_integer()
d|tojson; o|tojson; u|tojson; u|tojson(ensure_ascii=true); html|tojson; nl|tojson; "\x00\x1f\x7f\u2028"|tojson; d|tojson(indent=2); [[],{}]|tojson(indent=4); d|tojson(indent="--"); d|tojson(separators=(",", ":")); d|tojson(sort_keys=true); 1.0|tojson; 1e100|tojson; big|tojson; n|tojson; t|tojson; nothing|tojson; (1,2)|tojson; {1:2, none:3, true:4, 1.5:5}|tojson; o|map(attribute="k")|tojson; d.items()|tojson; l|tojson(indent=0); {"é": "é"}|tojson
l|sort; l|sort(reverse=true); ls|sort; ls|sort(case_sensitive=true); o|sort(attribute="k")|map(attribute="v")|list; o|sort(attribute="k,v", reverse=true)|map(attribute="v")|list; [1,"a"]|sort; d|dictsort; {"b":1,"A":2}|dictsort; {"b":1,"A":2}|dictsort(true); {"b":1,"a":2}|dictsort(by="value"); {"b":1,"a":2}|dictsort(reverse=true)
l|first; l|last; []|first; []|last; s|first; d|first; l|reverse|list; s|reverse; l|join; l|join(","); o|join(",", attribute="k"); ls|join(" "); l|sum; o|sum(attribute="v"); [[1],[2]]|sum(start=[]); l|min; l|max; ls|min; ls|max(case_sensitive=true); o|max(attribute="v"); []|max; l|unique|list; ["a","A","b"]|unique|list; o|unique(attribute="k")|list
l|map("string")|list; ls|map("upper")|join; o|map(attribute="k")|list; o|map(attribute="zz", default="D")|list; o|map(attribute="zz")|list; l|select("odd")|list; l|reject("odd")|list; l|select("gt", 1)|list; [0,1,""]|select|list; o|selectattr("k", "equalto", "x")|list; o|rejectattr("k", "equalto", "x")|map(attribute="v")|list; o|selectattr("zz")|list; o|selectattr("k", "in", ["y"])|list; l|map("nosuch")|list; l|select("nosuch")|list; l|batch(2)|list; l|batch(2, 0)|list; l|slice(2)|list; [1,2,3,4,5]|slice(3, "z")|list; o|groupby("k")|list
num|int; fl|int; "x"|int; "x"|int(5); "ff"|int(base=16); "0xff"|int(0, 16); f|int; n|int; n|int(3); " 42 "|int; fl|float; "x"|float; "x"|float(1.5); i|float; "inf"|float; f|round; 2.55|round(1); 3.5|round; 4.5|round; i|round; 1234|round(-2); 2.1|round(0, "ceil"); 2.9|round(method="floor"); -3|abs; -2.5|abs; "x"|abs
s|trim; "  a "|trim; "xax"|trim("x"); nl|indent; nl|indent(2, true); nl|indent(2, blank=true); nl|indent("> "); n|indent; s|wordcount; s|center(20) ~ "|"; html|escape; html|e; html|safe; (html|e)|e; html|e + "<"; "<" + html|e; html|forceescape; s|string; i|string + "x"; l|string; s|list; d|list; n|list; "a b/c?&é"|urlencode; s|attr("upper") is callable; s|length|string; s|nosuchfilter
s is string; n is string; i is number; t is number; t is integer; i is integer; f is float; t is boolean; t is true; i is true; d is mapping; l is mapping; l is sequence; d is sequence; s is sequence; i is sequence; n is sequence; l is iterable; i is iterable; nothing is iterable; nothing is sequence; nothing is defined; s is defined; nothing is undefined; n is none; i is odd; i is even; i is divisibleby 7; i is divisibleby(2); i is eq 7; i is in [7]; s is lower; "ab" is lower; "AB" is upper; range is callable; s is callable; n is sameas none; s is not defined; not s is defined; s is defined and n is none; "upper" is filter; "x" is filter; "odd" is test; s is nosuchtest; d.items() is sequence; o|map("string") is iterable; "a" is not in ls
range(3)|list; range(1, 10, 3)|list; range(3, 0, -1)|list; range(1, 2, 0); range(1000000); dict(a=1, b=2); dict({"x":1}, y=2); dict([("a", 1)]); namespace(a=1).a; namespace(a=1).b; namespace().b.c; 'a' 'b' "c"; 'it\'s'; "tab\tnl\\n\q\x41\u00e9\101"; "a'b"; ["a'b", 'c"d', "e'f\"g", "\n\x01é\u200b"]; [1.0, true, none, "x"]; (1,); (); {}; {"a": (1, [2])}; 1, 2; [1, 2,]; {"a": 1,}; [[1,2],[3]][0][1]; o.0.k; o[0]["k"].upper()|lower ~ "!"; "abc"[1]; "abc"["upper"](); {"a":1}.a; (1,2)[0]; [n][0] is none; {[1]: 2}; {(1,2): 3}[(1,2)]; {1: "a"}[true]; {1: "a"}[1.0]
strftime_now("%Y-%m-%d %H:%M:%S"); strftime_now("%d %b %Y"); strftime_now("%A, %B %-d, %y %I:%M %p %j %a %f %U %W %w %e %%"); strftime_now("%D %F %T %R %c %x %X %G %V %u"); raise_exception("no: " ~ i); joiner is defined; cycler(1,2).next(); s is string and s|length > 3; -l|length; l|length - 1; l[l|length - 1]; i ** 2 // 3; (i, f)|max; not n is none; s if s is string else n; (l|sort)[0]; l|sort|first; "%s" % (l|join("-")); s.split(",")[-1].strip(); "a" if "b" in ls and not n else "c"; 1 + 2 ~ 3 + 4; "x" ~ 1 * 2; 10 - 2 - 3; 2 * 3 % 4; 1 - -1
"""

TEMPLATES = [
    "{% if s %}\n  yes\n{% else %}\n  no\n{% endif %}\n  tail\n", "a\n  {%- if s -%}\n  b  \n {%- endif %}\nc", "  {% if s %}x{% endif %}", "x  {% if s %}y{% endif %}\n\nz",
    "{# c #}\nx\n  {# d #}\ny", "{#- c -#}  x", "  {%+ if s %}x{% endif +%}\ny", "{{ s -}}  \n x", "a  \n{{- s }}", "{{ '}}' }}", "{% raw %}{{ x }}{% endraw %}", "  {% raw -%}  {{ x }}\n  {%- endraw %}\ny", "{% raw %}\n{% if %}\n  {% endraw %}\nz", "line\n", "line\n\n", "\n{% set x = 1 %}\n{{ x }}\n", "\r\na\r\n{{ '\r\n'|length }}",
    "{% for x in l %}{{ x }}{% endfor %}", "{% for x in l %}{{ loop.index }}/{{ loop.length }}{{ ',' if not loop.last }}{% endfor %}", "{% for x in l %}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.previtem }}{{ loop.nextitem }};{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for k in d %}{{ k }}{% endfor %}", "{% for x in [] %}a{% else %}empty{% endfor %}", "{% for x in n %}{% endfor %}", "{% for x in nothing %}{% else %}none{% endfor %}", "{% for c in u %}[{{ c }}]{% endfor %}", "{% for a, b in [1] %}{% endfor %}", "{% for a, b in [[1,2,3]] %}{% endfor %}", "{% for a, (b, c) in [[1,[2,3]]] %}{{ a }}{{ b }}{{ c }}{% endfor %}", "{% for x in i %}{% endfor %}",
    "{% for x in l if x > 1 %}{{ x }}{{ loop.length }}{% endfor %}", "{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% if x == 2 %}{% break %}{% endif %}{% endfor %}", "{% for x in l %}{{ loop.cycle('a', 'b') }}{{ loop.changed(x > 1) }}{% endfor %}", "{% for x in l %}{% for y in ls %}{{ loop.index }}{% endfor %}{{ loop.index }};{% endfor %}",
    "{% for x in [[1,[2,[3]]],4] recursive %}{{ loop.depth }}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}{% endif %}{% endfor %}", "{% for x in l %}{% set y = x %}{% endfor %}{{ y }}", "{% set y = 0 %}{% for x in l %}{% set y = y + x %}{{ y }}{% endfor %}{{ y }}", "{% set ns = namespace(y=0) %}{% for x in l %}{% set ns.y = ns.y + x %}{% endfor %}{{ ns.y }}", "{% set d.x = 1 %}", "{% set q.x = 1 %}", "{% if s %}{% set y = 5 %}{% endif %}{{ y }}", "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set a = 1, 2 %}{{ a }}", "{% set x %}a{{ i }}b{% endset %}[{{ x }}]", "{% set x | upper | replace('A', 'z') %}a{{ i }}b{% endset %}[{{ x }}]", "{% set x %}{% set y = 1 %}{% endset %}{{ y }}",
    "{% macro m(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }}|{{ m(1, 3) }}|{{ m(1, c=5) }}|{{ m() }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(x=2) }}", "{% macro m(a) %}{{ a.b }}{% endmacro %}{{ m() }}", "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}", "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}body{{ i }}{% endcall %}", "{% macro m() %}{{ caller(1, 2) }}{% endmacro %}{% call(a, b) m() %}{{ a }}{{ b }}{% endcall %}", "{% macro m() %}x{% endmacro %}{% call m() %}b{% endcall %}", "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
    "{% set g = 1 %}{% macro m() %}{{ g }}{% set g2 = 3 %}{% endmacro %}{% set g = 2 %}{{ m() }}{{ g2 }}", "{% macro f(n) %}{% if n > 0 %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "{% for x in l %}{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% endfor %}", "{% macro m() %}{{ later }}{% endmacro %}{% set later = 9 %}{{ m() }}", "{% macro m() %} a {% endmacro %}{{ m()|trim }}{{ m.name }}{{ m.arguments }}", "{{ m is defined }}{% macro m() %}{% endmacro %}{{ m is defined }}", "{% for x in l %}{{ y }}{% set y = x %}{% endfor %}",
    "{% filter upper %}a{{ s }}{% endfilter %}", "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a }}", "{% with %}{% set z = 1 %}{{ z }}{% endwith %}{{ z }}", "{% generation %}x{% set z = 1 %}{{ s }}{% endgeneration %}{{ z }}", "{% if n %}a{% elif i %}b{% else %}c{% endif %}", "{% if n|nosuch %}{% endif %}ok", "{% if e and (n|nosuch) %}{% endif %}ok", "{% if true %}{% else %}{{ n|nosuch }}{% endif %}ok", "{{ 1 if true else (n|nosuch) }}", "{{ n|nosuch }}", "{{ n is nosuch }}",
    "{% if %}{% endif %}", "{% for x in l %}", "{% endif %}", "{{ }}", "{{ a b }}", "{{ 'a }}", "{% foo %}", "{# x", "{{ (1 }}", "{{ [1) }}", "{{ 1 + }}", "{% set 1 = 2 %}", "{% set none = 2 %}", "{% break %}", "{% for none in l %}{% endfor %}", "{{ f(a=1, 2) }}", "{{ f(**d, *l) }}", "{{ a.1x }}", "{{ $ }}", "{% macro m(a=1, b) %}{% endmacro %}",  "{{ x is defined is defined }}", "{% if s: %}x{% endif %}", "{% block b %}x{{ s }}{% endblock %}", "{{ raise_exception('stop') }}", "{%- set ns = namespace(found=false) -%}{%- for m in o -%}{%- if m.k == 'y' -%}{%- set ns.found = true -%}{%- endif -%}{%- endfor -%}{{ ns.found }}", "{{ dict(**d)|length }}{{ range(*[1, 3])|list }}", "{% for k, v in d|items %}{{ k }}{% endfor %}", "{% for k, v in d|dictsort %}{{ k }}{% endfor %}", "{% set x = o|map(attribute='k') %}{{ x|list }}{{ x|list }}", "{% set j = joiner('-') %}{% for x in l %}{{ j() }}{{ x }}{% endfor %}", "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}",
    "{{ s }}{{- '  ' -}}{{ i }}", "{%- for x in l %}\n  {{- x }}\n{%- endfor %}\nend", "{% for x in l -%}\n  {{ x }}\n{% endfor -%}\nend", "{% if s %} {% endif %}\n", "\t{% if s %}\t{% endif %}\t\n\tx", "{{ s }}\n{{ i }}\n\n", "a{% if s %}\n{% endif %}b", "{{\n  s\n}}", "{% if s\n  and i %}x{% endif %}", "{{ {'a': {'b': 1}}['a']['b'] }}", "{{ {'a': {'b': 1}}}}", "{%if s%}x{%endif%}", "{{s}}{{-s}}", "{{ -1 }}{{-1}}{{+1}}", "{#- a -#}\n\n{{ s }}", "{% set x = 1 -%}\n\n  y", "{% print s, i %}", "{% for x in range(3) %}{{ x }}{% endfor %}{{ x }}", "{{ loop }}", "{{ l.items is defined }}{{ d.items is defined }}{{ d.zz is defined }}{{ n.zz is defined }}", "{{ nothing.zz is defined }}",
]


def main():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    cases = []
    exprs = [x.strip() for line in EXPRS.strip().split("\n") for x in line.split("; ")]
    for src in ["{{ %s }}" % x for x in exprs] + TEMPLATES:
        case = {"template": src}
        try:
            case["out"] = env.from_string(src).render(**json.loads(json.dumps(VARS)))
        except RecursionError:
            case["error"] = "recursion"
        except Exception as e:
            case["error"] = str(e)
        cases.append(case)
    out = {"vars": VARS, "now": NOW.isoformat(), "cases": cases}
    print(json.dumps(out, ensure_ascii=True, indent=1))


main()
