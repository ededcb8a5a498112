"""scripts/run_tests must count right and must not call a broken run a success."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tests/support'))
import unittest_line  # noqa: E402

REPORT = '''<testsuites><testsuite name="S">
<testcase name="Good" classname="S" status="run" result="completed"/>
<testcase name="Left" classname="S" status="run" result="skipped">
<skipped message="a.cpp:1&#x0A;no AVX-512"/></testcase>
<testcase name="BadOrNot" classname="S" status="run" result="completed">%s</testcase>
<testcase name="NotChosen" classname="S" status="notrun" result="suppressed"/>
</testsuite></testsuites>'''


def program(report, ending):
    """A stand-in for a GoogleTest program: writes a report, then does `ending`."""
    return f'''#!/usr/bin/env python3
import os, sys
for argument in sys.argv:
    if argument.startswith('--gtest_output=xml:') and {report!r}:
        open(argument.split(':', 1)[1], 'w').write({report!r})
print('[ RUN      ] S.BadOrNot', flush=True)
{ending}
'''


class RunTests(unittest.TestCase):
    def run_tests(self, programs, scripts=(), arguments=()):
        with tempfile.TemporaryDirectory() as folder:
            build = Path(folder)
            for i, text in enumerate(programs):
                (build / f'p{i}_tests').write_text(text)
                (build / f'p{i}_tests').chmod(0o755)
            (build / 'test_programs.txt').write_text(''.join(f'{build}/p{i}_tests\n' for i in range(len(programs))))
            for i, (_, text) in enumerate(scripts):
                (build / f's{i}.py').write_text(text)
            (build / 'test_scripts.txt').write_text(
                ''.join(f'{kind} {build}/s{i}.py\n' for i, (kind, _) in enumerate(scripts)))
            done = subprocess.run([ROOT / 'scripts/run_tests', '--build', build, *arguments], capture_output=True,
                                  text=True)
            return done.returncode, done.stdout

    def test_passed_and_skipped_are_counted_with_reason(self):
        status, output = self.run_tests([program(REPORT % '', 'sys.exit(0)')])
        self.assertEqual(status, 0)
        self.assertIn('S.Left: no AVX-512', output)
        self.assertTrue(output.endswith('\n2 passed, 0 failed, 1 skipped\n'), output)

    def test_failure_is_printed_and_fails_the_run(self):
        status, output = self.run_tests([program(REPORT % '<failure>seven is not eight</failure>', 'sys.exit(1)')])
        self.assertEqual(status, 1)
        self.assertIn('S.BadOrNot\nseven is not eight', output)
        self.assertTrue(output.endswith('\n1 passed, 1 failed, 1 skipped\n'), output)

    def test_crash_without_report_fails_and_names_the_test(self):
        status, output = self.run_tests([program(REPORT % '', 'sys.exit(0)'), program('', 'os.abort()')])
        self.assertEqual(status, 1)
        self.assertIn('p1_tests: S.BadOrNot\nthe program was ended by SIGABRT', output)

    def test_bad_exit_status_after_a_clean_report_fails(self):
        status, output = self.run_tests([program(REPORT % '', 'sys.exit(23)')])
        self.assertEqual(status, 1)
        self.assertIn('ended with status 23', output)

    def test_program_that_was_not_built_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / 'test_programs.txt').write_text(f'{folder}/absent_tests\n')
            (Path(folder) / 'test_scripts.txt').write_text('')
            done = subprocess.run([ROOT / 'scripts/run_tests', '--build', folder], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn('absent_tests\nthe program was not built', done.stdout)

    def test_run_without_any_test_fails(self):
        status, output = self.run_tests([program('<testsuites/>', 'sys.exit(0)')])
        self.assertEqual(status, 1)
        self.assertTrue(output.endswith('\n0 passed, 0 failed, 0 skipped\n'), output)

    def test_scripts_are_summed_and_slow_ones_wait_for_the_slow_suite(self):
        scripts = [('fast', 'print("2 passed, 0 failed, 1 skipped")'),
                   ('slow', 'print("5 passed, 0 failed, 0 skipped")')]
        self.assertTrue(self.run_tests([], scripts)[1].endswith('\n2 passed, 0 failed, 1 skipped\n'))
        self.assertTrue(self.run_tests([], scripts, ['--slow'])[1].endswith('\n5 passed, 0 failed, 0 skipped\n'))

    def test_script_that_dies_before_its_closing_line_fails(self):
        status, output = self.run_tests([], [('fast', 'raise SystemExit("no such file")')])
        self.assertEqual(status, 1)
        self.assertIn('no such file', output)


if __name__ == '__main__':
    unittest_line.main()
