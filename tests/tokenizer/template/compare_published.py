#!/usr/bin/env python3
"""Renders published chat templates with octet and with jinja2 and compares the bytes.

  compare_published.py --program build/.../template_render [--templates DIR]

Without --templates, the templates come from the source package of llama-cpp-python (fetched with pip into a temporary
folder; the repository does not carry them). Exit status 0: all equal; 1: a difference; 77: skipped, nothing to compare.
"""

import argparse
import glob
import itertools
import json
import os
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
try:
    import transformers_jinja
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

PACKAGE = "llama-cpp-python"

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather for a city <now>",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "City 'name'"},
                "days": {"type": "integer", "minimum": 1},
                "unit": {"type": "string", "enum": ["C", "F"], "default": "C"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "where": {"type": ["string", "null"]},
                "box": {"type": "object", "properties": {"w": {"type": "number"}}, "required": ["w"]},
            },
            "required": ["city"],
        },
    },
}
CLOCK = {"type": "function", "function": {"name": "clock", "description": "", "parameters": {"type": "object", "properties": {}}}}

# Some templates cannot describe every schema; this one all can.
SIMPLE = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer", "description": "First"}}, "required": ["a"]},
    },
}


def call(name, arguments, call_id="call12345"):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


USER = {"role": "user", "content": "Hi"}
SYSTEM = {"role": "system", "content": "Be brief."}
CONVERSATIONS = {
    "user": [USER],
    "system": [SYSTEM, {"role": "user", "content": "Naïve 👍 <b>?</b>\n"}],
    "turns": [USER, {"role": "assistant", "content": "Hello."}, {"role": "user", "content": " And? "}],
    "system turns": [SYSTEM, USER, {"role": "assistant", "content": " B.\n"}, {"role": "user", "content": "C?"}],
    "ends with assistant": [USER, {"role": "assistant", "content": "Partial"}],
    "reasoning": [
        USER,
        {"role": "assistant", "content": "Yes.", "reasoning_content": "Think\nhard"},
        {"role": "user", "content": "Sure?"},
        {"role": "assistant", "content": "<think>\nmore\n</think>\n\nVery.", "reasoning_content": "again"},
    ],
    "inline reasoning": [USER, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nYes."}, USER],
    "tool turn": [
        SYSTEM,
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "", "reasoning_content": "need tool",
         "tool_calls": [call("get_weather", {"city": "Oslo", "days": 2, "tags": ["a", "é"], "box": {"w": 1.5}, "where": None, "ok": True})]},
        {"role": "tool", "content": "sunny", "tool_call_id": "call12345", "name": "get_weather"},
    ],
    "tool turn done": [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": None, "tool_calls": [call("get_weather", {"city": "Oslo"})]},
        {"role": "tool", "content": '{"t": 3}', "tool_call_id": "call12345", "name": "get_weather"},
        {"role": "assistant", "content": "Cold."},
        {"role": "user", "content": "Thanks"},
    ],
    "two calls": [
        {"role": "user", "content": "Both"},
        {"role": "assistant", "content": "Now",
         "tool_calls": [call("get_weather", {"city": "Oslo"}, "call00001"), call("clock", {}, "call00002")]},
        {"role": "tool", "content": "sunny", "tool_call_id": "call00001", "name": "get_weather"},
        {"role": "tool", "content": "12:00", "tool_call_id": "call00002", "name": "clock"},
        {"role": "assistant", "content": "Done."},
        USER,
    ],
    "text arguments": [
        USER,
        {"role": "assistant", "content": "", "tool_calls": [call("get_weather", '{"city": "Oslo"}')]},
        {"role": "tool", "content": "sunny", "tool_call_id": "call12345", "name": "get_weather"},
    ],
    "content parts": [
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": "there"}]},
    ],
    "image": [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What?"}]}],
    "developer": [{"role": "developer", "content": "Do it."}, USER],
    "unknown role": [{"role": "wizard", "content": "Abracadabra"}],
    "empty": [],
}
SETTINGS = [
    {},
    {"enable_thinking": False, "thinking": False},
    {"enable_thinking": True, "thinking": True, "clear_thinking": False, "preserve_thinking": True, "reasoning_effort": "high"},
    {"builtin_tools": ["browser", "python"], "model_identity": "You are X.", "date_string": "1 Jan", "datetime": "now",
     "functions": json.dumps([WEATHER["function"]]), "tools_in_user_message": False,
     "documents": [{"title": "T", "text": "D", "content": "D"}]},
]


def contexts():
    for (name, messages), tools, generate, settings in itertools.product(
        CONVERSATIONS.items(), (None, [WEATHER, CLOCK], [SIMPLE]), (False, True), SETTINGS
    ):
        context = {"messages": messages, "tools": tools, "documents": None, "add_generation_prompt": generate,
                   "bos_token": "<s>", "eos_token": "</s>"}
        context.update(settings)
        yield f"{name}, {len(tools or [])} tools, generate={generate}, {settings}", context


def octet_render(program, template, all_contexts, folder):
    """[(text, None) or (None, message)] of each context."""
    path = os.path.join(folder, "contexts.jsonl")
    with open(path, "w", encoding="utf-8") as f:
        for context in all_contexts:
            f.write(json.dumps(context, ensure_ascii=False) + "\n")
    run = subprocess.run([program, template, path], capture_output=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{template}: {program} ended with status {run.returncode}: {run.stderr.decode()}")
    # Not splitlines(): texts may hold other line separators.
    results = [json.loads(line) for line in run.stdout.decode().split("\n")[:-1]]
    return [(result.get("text"), result.get("error")) for result in results]


def first_difference(a, b):
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return f"at character {at}: jinja2 {a[max(0, at - 40):at + 40]!r}, octet {b[max(0, at - 40):at + 40]!r}"


def compare_template(program, template, folder):
    """(number of equal texts, number of conversations both refuse, refusal messages, differences)"""
    with open(template, encoding="utf-8") as f:
        source = f.read()
    reference = transformers_jinja.Template(source)
    equal, refused, reasons, differences = 0, 0, set(), []
    named = list(contexts())
    results = octet_render(program, template, [context for _, context in named], folder)
    for (name, context), (got, got_error) in zip(named, results, strict=True):
        want, want_error = reference.render(context)
        if want is None and got is None:
            refused += 1
            reasons.add(want_error[:100])
        elif want is None or got is None:
            differences.append(f"{name}: jinja2 {want_error or 'renders'}; octet {got_error or 'renders'}")
        elif want != got:
            differences.append(f"{name}: {first_difference(want, got)}")
        else:
            equal += 1
    return equal, refused, reasons, differences


def fetch(folder):
    """Folder of templates from PyPI, or None."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest",
               folder, PACKAGE]
    try:
        subprocess.run(command, check=False, capture_output=True, timeout=600)
    except (OSError, subprocess.TimeoutExpired):
        return None
    archives = glob.glob(os.path.join(folder, "llama_cpp_python-*.tar.gz"))
    if not archives:
        return None
    target = os.path.join(folder, "templates")
    os.makedirs(target)
    with tarfile.open(archives[0]) as archive:
        for member in archive:
            if "/vendor/llama.cpp/models/templates/" in member.name and member.name.endswith(".jinja"):
                with open(os.path.join(target, os.path.basename(member.name)), "wb") as out:
                    out.write(archive.extractfile(member).read())
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--templates", help="folder of .jinja files; default: fetched with pip")
    parser.add_argument("--verbose", action="store_true", help="print every difference")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        templates = options.templates or fetch(folder)
        files = sorted(glob.glob(os.path.join(templates, "*.jinja"))) if templates else []
        if not files:
            print(f"skipped: pip could not fetch the source package of {PACKAGE}")
            return 77
        failed = 0
        for template in files:
            equal, refused, reasons, differences = compare_template(options.program, template, folder)
            failed += bool(differences)
            state = f"{len(differences)} DIFFERENT" if differences else "ok"
            print(f"{os.path.basename(template)}: {state}, {equal} equal, {refused} refused by both")
            if equal == 0:
                print("  jinja2: " + "; ".join(sorted(reasons)))
            for line in differences if options.verbose else differences[:3]:
                print("  " + line)
        print(f"{len(files)} templates, {failed} with differences")
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
