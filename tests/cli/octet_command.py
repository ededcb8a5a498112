"""Runs octet as a user does, for the command-line tests.

The program is OCTET_BINARY if that is set, otherwise the argument of the test script: the program itself or the build
folder that holds it.
"""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUNDLED = ROOT / 'models/tiny-glm5-nvfp4'
RANDOM = ROOT / 'tests/data'
sys.path.insert(0, str(ROOT / 'tests/support'))
import unittest_line  # noqa: E402,F401  (for the scripts that import this)

TIME_LIMIT_S = 300  # a hundred times what is expected: for sanitizer builds on busy machines


def binary():
    path = Path(os.environ.get('OCTET_BINARY') or (sys.argv[1] if len(sys.argv) > 1 else ROOT / 'build/release'))
    return str((path / 'octet' if path.is_dir() else path).resolve())


OCTET = binary()


def run(*arguments, stdin=b'', time_limit_s=TIME_LIMIT_S, before=None):
    """The finished process; its output is bytes. `before` is called in the new process before octet starts."""
    return subprocess.run([OCTET, *map(as_argument, arguments)], input=stdin, capture_output=True, timeout=time_limit_s,
                          preexec_fn=before)


def as_argument(value):
    return value if isinstance(value, bytes) else str(value)


def start(*arguments):
    """A running octet whose standard streams are unbuffered pipes."""
    return subprocess.Popen([OCTET, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, bufsize=0)


def greedy(prompt, *arguments, model=BUNDLED):
    """`octet generate` of a prompt, always with the same answer."""
    return run('generate', '--model', model, '--temperature', 0, '--prompt', prompt, *arguments)


class CommandTest(unittest.TestCase):
    """Assertions about what a run said, and a folder for the files of a test."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def succeeds(self, done):
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors='replace'))
        return done

    def json_of(self, done):
        """The one JSON object on stdout; anything else there is a failure, and so are NaN and Infinity."""
        lines = self.succeeds(done).stdout.decode().splitlines()
        self.assertEqual(len(lines), 1, lines)
        return json.loads(lines[0], parse_constant=self.fail)

    def refuses(self, done, status, *parts):
        """Ended with `status`, wrote nothing on stdout, and on stderr one message for users that holds every part."""
        message = done.stderr.decode(errors='replace')
        self.assertEqual(done.returncode, status, message)
        self.assertEqual(done.stdout, b'')
        for part in parts:
            self.assertIn(str(part), message)
        for leak in ('std::', 'terminate called', 'json.exception', 'unexpected failure', '.cpp', '.h:'):
            self.assertNotIn(leak, message)
        return message


class Checkpoint:
    """A copy of a checkpoint to be damaged. Without its golden answers unless `golden`."""

    def __init__(self, folder, source=RANDOM / 'qwen3-moe', golden=False):
        self.path = folder / 'model'
        shutil.copytree(source, self.path, ignore=None if golden else shutil.ignore_patterns('golden'))

    def __str__(self):
        return str(self.path)

    def edit_json(self, name, **values):
        """Sets keys of a JSON file; a value of None removes its key."""
        content = {**json.loads((self.path / name).read_text()), **values}
        (self.path / name).write_text(json.dumps({key: value for key, value in content.items() if value is not None}))

    def edit_header(self, change, name='model.safetensors'):
        """Lets `change` alter the header of a safetensors file, a dictionary; the data stay."""
        file = self.path / name
        raw = file.read_bytes()
        size = struct.unpack('<Q', raw[:8])[0]
        header = json.loads(raw[8:8 + size])
        change(header)
        text = json.dumps(header).encode()
        file.write_bytes(struct.pack('<Q', len(text)) + text + raw[8 + size:])
