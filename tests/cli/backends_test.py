"""octet backends: the selection table of models and named shapes, on this machine and on hardware that is not there."""

import os
import re

from octet_command import BUNDLED, RANDOM, CommandTest, run, unittest_line

CODES = {'not_built', 'instruction_set', 'shared_memory', 'shape', 'format', 'activation', 'routing', 'memory',
         'numerics_class', 'mismatch', 'not_selected'}
SHAPES = ('glm5', 'glm5-tp8', 'qwen3-30b-a3b', 'qwen3-235b-a22b', 'qwen3-235b-a22b-tp8', 'deepseek-v3',
          'deepseek-v3-tp8', 'gpt-oss-20b', 'gpt-oss-120b', 'tiny-glm5')
os.environ['XDG_CACHE_HOME'] = '/nonexistent'  # no results of earlier trials
HARDWARE = ('h200', 'h100', 'b200', 'rtx-pro-6000', 'rtx-5090', 'gb10', 'this')


class BackendsTest(CommandTest):
    def table(self, *arguments):
        return self.json_of(run('backends', '--json', *arguments))

    def rows(self, *arguments):
        return {(row['tokens'], row['name']): row for row in self.table(*arguments)['rows']}


class Table(BackendsTest):
    def test_json_has_the_keys_of_the_contract_and_no_others(self):
        table = self.table('--shape', 'glm5-tp8', '--hardware', 'h200')
        self.assertEqual(list(table), ['problem', 'hardware', 'rows'])
        for row in table['rows']:
            self.assertEqual(list(row), ['tokens', 'name', 'state', 'reason_code', 'reason', 'bound_us', 'measured_us'])
            self.assertIn(row['state'], ('chosen', 'can_run', 'refused'))
            self.assertEqual(row['state'] == 'refused', row['reason_code'] in CODES)
            self.assertEqual(row['state'] == 'refused', bool(row['reason']))
            self.assertGreater(row['bound_us'], 0)

    def test_reason_codes_are_the_documented_ones(self):
        documented = (RANDOM / '../../docs/backends.md').read_text().split('## Reasons for a refusal')[1]
        self.assertEqual(set(re.findall(r'^\| `(\w+)` \|', documented, re.MULTILINE)), CODES)

    def test_every_named_shape_and_hardware_has_a_table(self):
        for shape in SHAPES:
            self.assertTrue(self.rows('--shape', shape, '--hardware', 'h200', '--tokens', 1))
        for hardware in HARDWARE:
            self.assertTrue(self.rows('--shape', 'glm5', '--hardware', hardware, '--tokens', 1))

    def test_token_counts_are_sorted_and_listed_once(self):
        tokens = [row['tokens'] for row in self.table('--shape', 'glm5', '--tokens', '64,1,64')['rows']]
        self.assertEqual(sorted(set(tokens)), [1, 64])
        self.assertEqual(tokens, sorted(tokens))

    def test_bound_is_the_time_to_read_the_experts_that_are_visited(self):
        rows = self.rows('--shape', 'glm5-tp8', '--hardware', 'h200', '--tokens', '1,64')
        expert_bytes = 3 * 6144 * 256 * 0.5625
        for tokens in (1, 64):
            distinct = 256 * (1 - (1 - 8 / 256)**tokens)
            self.assertAlmostEqual(rows[tokens, 'cuda.fp4_rows']['bound_us'], distinct * expert_bytes / 4550e3, places=6)

    def test_problem_of_a_checkpoint_is_that_of_its_named_shape(self):
        model, shape = self.table('--model', BUNDLED), self.table('--shape', 'tiny-glm5')
        self.assertEqual(model['problem'], shape['problem'])
        self.assertEqual([row['name'] for row in model['rows']], [row['name'] for row in shape['rows']])

    def test_text_has_a_head_a_bucket_and_a_line_a_backend(self):
        text = self.succeeds(run('backends', '--model', BUNDLED, '--tokens', '1,64')).stdout.decode()
        heads = re.findall(r'^moe experts   T=(\d+) H=256 I=128 E=64 top_k=8, NVFP4, exact16, ', text, re.MULTILINE)
        self.assertEqual(heads, ['1', '64'])
        self.assertEqual(len(re.findall(r'^  cpu\.rows +chosen +at best [\d.]+ us \(at an assumed 10 GB/s\)$', text,
                                        re.MULTILINE)), 2)
        self.assertEqual(len(re.findall(r'^  reference +can run +at best [\d.]+ us \(at an assumed 10 GB/s\)$', text,
                                        re.MULTILINE)), 2)
        self.assertRegex(text, r'  cuda\.fp4_rows +refused +needs CUDA and sm_90')


class AbsentHardware(BackendsTest):
    def test_tile_of_the_known_crash_keeps_the_stage_count_that_fits(self):
        rows = self.rows('--shape', 'glm5-tp8', '--hardware', 'rtx-pro-6000', '--tokens', 512)
        tile = {name: row for (_, name), row in rows.items() if '128x256x128' in name}
        fitting = [name for name, row in tile.items() if row['reason_code'] == 'not_built']
        self.assertEqual(fitting, ['cutlass.nvfp4_128x256x128_s2_sm120'])
        for name, row in tile.items():
            if name in fitting:
                self.assertIn('kernel not in this build', row['reason'])
                continue
            self.assertEqual(row['reason_code'], 'shared_memory')
            stages, stage, epilogue, barriers, total, limit = map(int, re.match(
                r'(\d+) stages x (\d+) \(.*\) \+ (\d+) epilogue \+ (\d+) barriers = (\d+) bytes.* has (\d+) a block',
                row['reason']).groups())
            self.assertEqual(stages * stage + epilogue + barriers, total)
            self.assertGreater(total, limit)
            self.assertEqual(limit, 101376)

    def test_hopper_refuses_blackwell_tiles_by_architecture(self):
        rows = self.rows('--shape', 'glm5-tp8', '--hardware', 'h200', '--tokens', 512)
        for (_, name), row in rows.items():
            if name.startswith('cutlass.'):
                self.assertEqual(row['reason_code'], 'instruction_set', name)
                self.assertIn('device is sm_90', row['reason'])
        self.assertIn('needs sm_100', rows[512, 'cutlass.nvfp4_128x256x256_s3_sm100']['reason'])
        self.assertEqual(rows[512, 'cuda.fp4_tiles_sm90']['reason_code'], 'not_built')
        self.assertEqual(rows[512, 'cuda.fp4_rows']['reason_code'], 'shape')

    def test_processor_that_is_not_there_is_selected_for(self):
        for hardware in ('avx2-8c', 'avx512-16c', 'amx-48c'):
            rows = self.rows('--shape', 'qwen3-30b-a3b', '--hardware', hardware, '--tokens', 1)
            self.assertEqual(rows[1, 'cpu.rows']['state'], 'chosen')

    def test_numerics_class_excludes_other_activations(self):
        exact = self.rows('--shape', 'glm5', '--hardware', 'h200', '--tokens', 64)
        int8 = self.rows('--shape', 'glm5', '--hardware', 'h200', '--tokens', 64, '--numerics', 'int8')
        self.assertEqual(exact[64, 'cuda.fp8_tiles_sm90']['reason_code'], 'numerics_class')
        self.assertEqual(int8[64, 'cuda.fp8_tiles_sm90']['reason_code'], 'not_built')
        self.assertEqual(int8[64, 'cuda.fp4_rows']['reason_code'], 'numerics_class')


class ForcedName(BackendsTest):
    def test_name_that_can_run_is_chosen_and_the_others_are_not_selected(self):
        rows = self.rows('--model', BUNDLED, '--tokens', 1, '--moe-runner-backend', 'reference')
        self.assertEqual(rows[1, 'reference']['state'], 'chosen')
        self.assertEqual(rows[1, 'cpu.rows']['reason_code'], 'not_selected')

    def test_phases_have_names_of_their_own(self):
        rows = self.rows('--model', BUNDLED, '--tokens', '1,2048', '--moe-runner-backend',
                         'decode=reference,prefill=cpu')
        self.assertEqual(rows[1, 'reference']['state'], 'chosen')
        self.assertEqual(rows[2048, 'cpu.rows']['state'], 'chosen')

    def test_name_that_nothing_here_can_serve_fails_with_buckets_and_every_reason(self):
        for name in ('marlin', 'flashinfer_trtllm', 'nonsense', 'cuda.fp4_rows'):
            self.refuses(run('backends', '--shape', 'glm5', '--moe-runner-backend', name, '--json'), 1, name,
                         'T=1, 64, 2048:' if name == 'nonsense' else 'T=', 'cpu.rows: not_selected', 'cuda.fp4_rows: ')
        self.refuses(run('backends', '--shape', 'glm5', '--moe-runner-backend', 'decode=cpu,prefill=marlin'), 1,
                     'T=2048:', '"marlin" stands for')

    def test_generation_with_a_backend_a_phase_gives_the_same_answer(self):
        flags = ('--model', BUNDLED, '--temperature', 0, '--chat', '--prompt', 'Define walrus.', '--max-tokens', 8)
        expected = self.succeeds(run('generate', *flags)).stdout
        for name in ('decode=cpu.rows,prefill=reference', 'prefill=cpu.rows', 'decode=reference'):
            self.assertEqual(self.succeeds(run('generate', *flags, '--moe-runner-backend', name)).stdout, expected)


class Measured(BackendsTest):
    def test_trials_prove_and_time_on_a_loaded_layer_and_are_remembered(self):
        cache = self.folder / 'new/trials.json'
        flags = ('--model', BUNDLED, '--tokens', '1,8', '--trial-cache', cache)
        self.assertIsNone(self.rows(*flags)[1, 'cpu.rows']['measured_us'])
        measured = self.rows(*flags, '--measure')
        for tokens in (1, 8):
            times = {name: row['measured_us'] for (count, name), row in measured.items()
                     if count == tokens and row['measured_us'] is not None}
            chosen, = (name for (count, name), row in measured.items() if count == tokens and row['state'] == 'chosen')
            self.assertGreater(times[chosen], 0)
            self.assertLessEqual(times[chosen], 1.03 * min(times.values()))
        self.assertEqual(self.rows(*flags), measured)
        text = self.succeeds(run('backends', *flags)).stdout.decode()
        self.assertRegex(text, r'cpu\.\w+ +chosen +at best .*, measured [\d.]+ us.*, agrees with the reference\n')

    def test_results_of_a_damaged_file_are_forgotten(self):
        cache = self.write('trials.json', '{"version": 1, "entries"')
        rows = self.rows('--model', BUNDLED, '--trial-cache', cache)
        self.assertIsNone(rows[1, 'cpu.rows']['measured_us'])

    def test_file_that_cannot_be_written_is_a_note(self):
        done = self.succeeds(run('backends', '--model', BUNDLED, '--tokens', 1, '--measure', '--trial-cache',
                                 self.write('file', '') / 'trials.json'))
        self.assertIn(b'could not be written', done.stderr)

    def test_only_a_checkpoint_on_this_machine_can_be_measured(self):
        self.refuses(run('backends', '--shape', 'glm5', '--measure'), 2, '--measure', 'without weights')
        self.refuses(run('backends', '--model', BUNDLED, '--hardware', 'h200', '--measure'), 2, '--measure', 'h200')


class BadInput(BackendsTest):
    def test_exactly_one_of_model_and_shape_is_needed(self):
        self.refuses(run('backends'), 2, '--model', '--shape', 'neither')
        self.refuses(run('backends', '--model', BUNDLED, '--shape', 'glm5'), 2, 'both')

    def test_unknown_names_are_refused_with_the_known_ones(self):
        self.refuses(run('backends', '--shape', 'glm-5'), 2, '"glm-5"', *SHAPES)
        self.refuses(run('backends', '--shape', 'glm5', '--hardware', 'a100'), 2, '"a100"', *HARDWARE)

    def test_token_counts_that_are_none_are_refused(self):
        for tokens in ('0', '-1', 'x', '1,x', '1.5', ''):
            self.refuses(run('backends', '--shape', 'glm5', '--tokens', tokens), 2, '--tokens')

    def test_forced_names_of_another_form_are_bad_usage(self):
        for name in ('decode=', 'decode=cpu,decode=cpu', 'cpu,reference', 'verify=cpu'):
            self.refuses(run('backends', '--shape', 'glm5', '--moe-runner-backend', name), 2,
                         'decode=NAME,prefill=NAME')

    def test_folder_that_is_no_checkpoint_is_named(self):
        self.refuses(run('backends', '--model', self.folder), 1, self.folder / 'config.json')


if __name__ == '__main__':
    unittest_line.main()
