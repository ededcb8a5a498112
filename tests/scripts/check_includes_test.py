"""scripts/check_includes must let a good tree pass and name every kind of violation."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tests/support'))
import unittest_line  # noqa: E402


class CheckIncludes(unittest.TestCase):
    def check(self, files):
        """Exit status and output for a source tree {path: text} under the project's own table."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / 'docs').mkdir()
            (root / 'docs/architecture.md').write_text((ROOT / 'docs/architecture.md').read_text())
            for path, text in files.items():
                (root / 'src' / path).parent.mkdir(parents=True, exist_ok=True)
                (root / 'src' / path).write_text(text)
            done = subprocess.run([ROOT / 'scripts/check_includes', root], capture_output=True, text=True)
            return done.returncode, done.stdout

    def assert_refused(self, path, text, *parts):
        status, output = self.check({path: text})
        self.assertEqual(status, 1)
        for part in (path, *parts):
            self.assertIn(part, output)

    def test_own_sources_pass(self):
        done = subprocess.run([ROOT / 'scripts/check_includes'], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ''))

    def test_folder_above_and_what_it_includes_pass(self):
        self.assertEqual(self.check({'attention/a.h': '#include "base/error.h"\n#include "kernels/ops.h"\n'}), (0, ''))

    def test_own_folder_and_parent_folder_pass(self):
        self.assertEqual(self.check({'moe/experts/cpu/a.cpp': '#include "moe/experts/experts.h"\n',
                                     'moe/experts/registry.cpp': '#include "moe/experts/cpu/a.h"\n'}), (0, ''))

    def test_folder_below_is_refused_with_line(self):
        self.assert_refused('base/a.h', '\n#include "tensor/view.h"\n', 'a.h:2', 'base/ may not include tensor/')

    def test_folder_above_outside_the_row_is_refused(self):
        self.assert_refused('scheduler/a.cpp', '#include "numerics/weight.h"\n', 'scheduler/ may not include numerics/')

    def test_other_family_is_refused(self):
        self.assert_refused('models/qwen3_moe/a.cpp', '#include "models/glm_moe_dsa/config.h"\n', 'never include')

    def test_other_expert_backend_is_refused(self):
        self.assert_refused('moe/experts/cpu/a.cpp', '#include "moe/experts/reference/a.h"\n', 'never include')

    def test_other_kernel_backend_is_refused(self):
        self.assert_refused('kernels/cpu/a.cpp', '#include "kernels/reference/a.h"\n', 'never include')

    def test_include_without_folder_is_refused(self):
        self.assert_refused('moe/a.cpp', '#include "a.h"\n', 'starts with a folder')

    def test_include_that_climbs_out_is_refused(self):
        self.assert_refused('moe/a.cpp', '#  include "../engine/engine.h"\n', 'starts with a folder')

    def test_folder_without_row_is_refused(self):
        self.assert_refused('misc/a.cpp', '', 'no row')

    def test_outside_library_elsewhere_is_refused(self):
        self.assert_refused('engine/a.cpp', '#include <pcre2.h>\n', 'only tokenizer/')

    def test_cmake_dependency_against_the_table_is_refused(self):
        status, output = self.check({'base/CMakeLists.txt': 'octet_library(base SOURCES a.cpp\n  DEPS octet_engine)\n',
                                     'engine/CMakeLists.txt': 'octet_library(engine DEPS octet_base)\n'})
        self.assertEqual(status, 1)
        self.assertIn('octet_base links octet_engine', output)


if __name__ == '__main__':
    unittest_line.main()
