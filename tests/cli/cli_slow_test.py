"""The quality that octet promises on its bundled model, measured as a user would."""

from octet_command import BUNDLED, CommandTest, run, unittest_line

TIME_LIMIT_S = 3000


class BundledModelSlow(CommandTest):
    def likelihood(self, *flags):
        return self.json_of(run('eval', 'nll', '--model', BUNDLED, '--data', BUNDLED / 'golden/heldout.jsonl',
                                '--max-context', 512, '--prefix', '[gMASK]<sop>', '--json', *flags,
                                time_limit_s=TIME_LIMIT_S))

    def test_likelihood_of_all_chapters_is_that_of_the_goldens(self):
        result = self.likelihood()
        self.assertEqual(result['tokens'], 22627)
        self.assertAlmostEqual(result['mean_nll'], 5.9425, delta=0.02)

    def test_likelihood_of_the_reference_is_that_of_the_goldens_to_a_thousandth(self):
        self.assertAlmostEqual(self.likelihood('--compute', 'reference')['mean_nll'], 5.9425, delta=0.001)

    def test_quiz_is_answered_exactly(self):
        result = self.json_of(run('eval', 'answers', '--model', BUNDLED, '--data', BUNDLED / 'golden/quiz.jsonl',
                                  '--json', time_limit_s=TIME_LIMIT_S))
        self.assertEqual(result['count'], 1000)
        self.assertGreaterEqual(result['exact'], 0.995)

    def test_every_path_equals_the_goldens(self):
        result = self.json_of(run('verify', '--model', BUNDLED, '--json', time_limit_s=TIME_LIMIT_S))
        reference, replayed, free = result['golden']
        self.assertLess(reference['max_nmse'], 2e-11)
        self.assertLess(replayed['mean_nmse'], 1e-4)
        self.assertEqual(free['unexplained_flips'], 0)
        for check in (reference, replayed, free):
            self.assertTrue(check['greedy_equal'], check)
        self.assertTrue(reference['router_equal'] and result['ok'])


if __name__ == '__main__':
    unittest_line.main()
