"""Lets a test script written with unittest end with the line that scripts/run_tests reads."""

import sys
import unittest


def main():
    """Runs the tests of the calling script and prints "N passed, N failed, N skipped". Exit status 1 on failure."""
    outcome = unittest.main(argv=sys.argv[:1], exit=False).result
    failed, skipped = len(outcome.failures) + len(outcome.errors), len(outcome.skipped)
    for test, reason in outcome.skipped:
        print(f'skipped {test}: {reason}')
    print(f'{outcome.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped')
    sys.exit(1 if failed else 0)
