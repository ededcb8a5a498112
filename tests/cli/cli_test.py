"""What octet's commands do with input that is right, and how they end."""

import json
import os
import signal
import subprocess
import time

from octet_command import BUNDLED, OCTET, RANDOM, Checkpoint, CommandTest, greedy, run, start, unittest_line

WALRUS = ('Walrus (noun): either of two large northern marine mammals having ivory tusks and tough hide over thick '
          'blubber.')
GOLDEN = json.loads((BUNDLED / 'golden/golden.json').read_text())['prompts']
# Mean negative log-likelihood of the first six chapters, each by itself; from the Hugging Face implementation.
CHAPTERS = [6.771759, 5.334672, 4.930063, 3.810630, 5.215663, 4.873812]


class Usage(CommandTest):
    def test_version_is_one_line(self):
        self.assertRegex(self.succeeds(run('--version')).stdout.decode(), r'^octet \d+\.\d+\.\d+\n$')

    def test_help_names_every_command(self):
        for command in ('generate', 'chat', 'eval', 'verify', 'inspect', 'backends'):
            self.assertIn(f'\n  {command} ', self.succeeds(run('--help')).stdout.decode())

    def test_help_of_each_command_fits_a_screen(self):
        for command in (['generate'], ['chat'], ['eval', 'nll'], ['eval', 'answers'], ['verify'], ['inspect'],
                        ['backends']):
            text = self.succeeds(run(*command, '--help')).stdout.decode()
            self.assertIn('--model', text)
            self.assertLess(len(text.splitlines()), 60)
            self.assertLess(max(map(len, text.splitlines())), 120)


class Generate(CommandTest):
    def test_chat_prompt_is_answered(self):
        done = self.succeeds(greedy('Define walrus.', '--chat'))
        self.assertEqual(done.stdout.decode(), WALRUS + '\n')
        self.assertIn(b'finished by stop', done.stderr)

    def test_json_has_the_keys_of_the_contract_and_no_others(self):
        answer = self.json_of(greedy('Define walrus.', '--chat', '--json'))
        self.assertEqual(list(answer), ['text', 'token_ids', 'prompt_tokens', 'completion_tokens', 'finish_reason',
                                        'load_s', 'prefill_s', 'decode_s'])
        self.assertEqual((answer['text'], answer['prompt_tokens'], answer['finish_reason']), (WALRUS, 9, 'stop'))
        self.assertEqual(answer['completion_tokens'], len(answer['token_ids']))

    def test_greedy_ids_equal_the_goldens(self):
        for prompt in GOLDEN:
            ids = self.json_of(greedy(prompt['text'], '--json', '--max-tokens', 40))['token_ids']
            self.assertEqual(ids, prompt['greedy_ids'], prompt['text'][:60])

    def test_system_message_goes_through_the_template(self):
        answer = self.json_of(greedy('What is an oak?', '--chat', '--system', 'You are a dictionary.', '--json'))
        self.assertEqual(answer['token_ids'], GOLDEN[6]['greedy_ids'])

    def test_threads_do_not_change_the_answer(self):
        for threads in (1, 2, 7):
            done = self.succeeds(greedy('Define walrus.', '--chat', '--threads', threads))
            self.assertEqual(done.stdout.decode(), WALRUS + '\n')

    def test_reference_gives_the_same_answer(self):
        done = self.succeeds(greedy('Define walrus.', '--chat', '--compute', 'reference', '--max-tokens', 12))
        self.assertEqual(done.stdout.decode(), 'Walrus (noun): either of two large northern marine\n')

    def test_chunked_prefill_does_not_change_the_answer(self):
        prompt = GOLDEN[9]
        answer = self.json_of(greedy(prompt['text'], '--chunked-prefill-size', 7, '--max-tokens', 40, '--json'))
        self.assertEqual(answer['token_ids'], prompt['greedy_ids'])

    def test_every_expert_backend_that_can_run_here_gives_the_same_answer(self):
        for backend in ('auto', 'cpu.rows', 'reference'):
            done = self.succeeds(greedy('Define walrus.', '--chat', '--moe-runner-backend', backend,
                                        '--max-tokens', 12))
            self.assertEqual(done.stdout.decode(), 'Walrus (noun): either of two large northern marine\n')

    def test_model_folder_may_be_relative_and_end_in_slashes(self):
        for folder in (os.path.relpath(BUNDLED), f'{BUNDLED}//'):
            self.succeeds(greedy('God', '--max-tokens', 1, model=folder))

    def test_folder_without_write_permission_is_read(self):
        model = Checkpoint(self.folder, BUNDLED)
        for path in (*model.path.iterdir(), model.path):
            path.chmod(0o555 if path.is_dir() else 0o444)
        self.addCleanup(model.path.chmod, 0o755)
        self.succeeds(greedy('God', '--max-tokens', 1, model=model))

    def test_prompt_of_invalid_utf8_is_answered_in_valid_json(self):
        self.json_of(greedy(b'\xff\xfe\x80abc\xf0\x9f', '--max-tokens', 3, '--json'))
        self.json_of(greedy(b'\xff\xfe\x80abc\xf0\x9f', '--chat', '--max-tokens', 3, '--json'))


class Stopping(CommandTest):
    def test_one_token_is_one_token(self):
        answer = self.json_of(greedy('In the beginning', '--max-tokens', 1, '--json'))
        self.assertEqual((answer['completion_tokens'], answer['finish_reason']), (1, 'length'))

    def test_stop_string_within_a_token_cuts_the_text_before_it(self):
        done = self.succeeds(greedy('Define walrus.', '--chat', '--stop', 'orthern'))
        self.assertEqual(done.stdout, b'Walrus (noun): either of two large n\n')

    def test_stop_string_across_tokens_is_found(self):
        answer = self.json_of(greedy('Define walrus.', '--chat', '--stop', 'rthern mar', '--json'))
        self.assertEqual((answer['text'], answer['finish_reason']), ('Walrus (noun): either of two large no', 'stop'))

    def test_first_of_several_stop_strings_in_the_text_counts(self):
        flags = ('--stop', 'zebra', '--stop', 'two la', '--stop', 'either')
        done = self.succeeds(greedy('Define walrus.', '--chat', *flags))
        self.assertEqual(done.stdout, b'Walrus (noun): \n')

    def test_beginning_of_a_stop_string_at_the_end_is_shown(self):
        done = self.succeeds(greedy('Define walrus.', '--chat', '--stop', 'blubber. and more'))
        self.assertEqual(done.stdout.decode(), WALRUS + '\n')

    def test_ignore_eos_goes_on_to_the_end_of_the_context(self):
        answer = self.json_of(greedy('In the beginning', '--ignore-eos', '--context-length', 100, '--json'))
        self.assertEqual(answer['prompt_tokens'] + answer['completion_tokens'], 100)
        self.assertEqual(answer['finish_reason'], 'length')


class Sampling(CommandTest):
    def sample(self, *arguments, tokens=12):
        done = run('generate', '--model', BUNDLED, '--prompt', 'In the beginning', '--max-tokens', tokens,
                   '--ignore-eos', '--json', *arguments)
        return self.json_of(done)['token_ids']

    def test_seed_repeats_an_answer_on_any_number_of_threads(self):
        self.assertEqual(self.sample('--seed', 7, '--temperature', 2, '--threads', 1),
                         self.sample('--seed', 7, '--temperature', 2, '--threads', 3))

    def test_another_seed_gives_another_answer(self):
        self.assertNotEqual(self.sample('--seed', 7, '--temperature', 2), self.sample('--seed', 8, '--temperature', 2))

    def test_without_seed_answers_differ(self):
        self.assertGreater(len({tuple(self.sample('--temperature', 2)) for _ in range(3)}), 1)

    def test_flags_that_leave_one_token_are_greedy(self):
        expected = self.sample('--temperature', 0)
        for flags in (['--top-k', 1], ['--top-p', 1e-9], ['--min-p', 1]):
            self.assertEqual(self.sample('--temperature', 1, *flags), expected, flags)

    def test_penalties_change_a_greedy_answer(self):
        done = [self.sample('--temperature', 0, *flags, tokens=40)
                for flags in ([], ['--repetition-penalty', 1.5], ['--presence-penalty', 2], ['--frequency-penalty', 2])]
        for changed in done[1:]:
            self.assertNotEqual(changed, done[0])


class Chat(CommandTest):
    def chat(self, text, *arguments):
        return self.succeeds(run('chat', '--model', BUNDLED, '--temperature', 0, *arguments, stdin=text))

    def test_message_without_newline_at_the_end_is_answered(self):
        self.assertEqual(self.chat(b'Define walrus.').stdout.decode(), WALRUS + '\n')

    def test_history_is_part_of_the_next_question_until_reset(self):
        done = self.chat(b'What is a river?\nDefine stream.\n/reset\nDefine walrus.\n')
        _, with_history, _, after_reset = done.stdout.decode().splitlines()
        self.assertEqual([with_history, after_reset], [GOLDEN[7]['greedy_text'], WALRUS])

    def test_system_message_survives_reset(self):
        done = self.chat(b'What is an oak?\n/reset\nWhat is an oak?\n', '--system', 'You are a dictionary.')
        first, _, second = done.stdout.decode().splitlines()
        self.assertEqual([first, second], [GOLDEN[6]['greedy_text']] * 2)

    def test_nothing_is_read_after_quit(self):
        self.assertEqual(self.chat(b'/quit\nDefine walrus.\n').stdout, b'')

    def test_help_names_the_commands(self):
        text = self.chat(b'/help\n').stdout.decode()
        for command in ('/help', '/reset', '/quit', 'Ctrl-C'):
            self.assertIn(command, text)

    def test_unknown_command_is_not_sent_to_the_model(self):
        self.assertEqual(self.chat(b'/nonsense\n').stdout, b'Unknown command /nonsense; /help shows what there is.\n')

    def test_lines_may_end_as_on_windows(self):
        self.assertIn(b'/reset', self.chat(b'/help\r\n/quit\r\n').stdout)
        self.assertEqual(self.chat(b'Define walrus.\r\n').stdout.decode(), WALRUS + '\n')

    def test_empty_lines_and_empty_input_say_nothing(self):
        self.assertEqual(self.chat(b'\n  \n\t\n').stdout + self.chat(b'').stdout, b'')

    def test_message_too_long_for_the_context_is_taken_back(self):
        done = self.chat(b'walrus ' * 100_000 + b'\nDefine walrus.\n')
        self.assertEqual(done.stdout.decode(), WALRUS + '\n')
        self.assertIn(b'longer than the context of 512 tokens', done.stderr)

    def test_bytes_that_are_no_text_are_answered(self):
        self.assertEqual(len(self.chat(b'\xff\xfe\x00\x80\n').stdout.splitlines()), 1)


class Signals(CommandTest):
    ENDLESS = ('--temperature', 0, '--ignore-eos', '--compute', 'reference', '--model', BUNDLED)

    def start(self, *arguments):
        process = start(*arguments)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def wait_for_guard(self, process):
        """Returns once the process handles SIGINT."""
        for _ in range(3000):
            with open(f'/proc/{process.pid}/status') as status:
                caught = next(line for line in status if line.startswith('SigCgt'))
            if int(caught.split()[1], 16) & 1 << (signal.SIGINT - 1):
                return
            time.sleep(0.01)
        self.fail('SIGINT was never handled')

    def test_first_interrupt_ends_an_answer_cleanly(self):
        process = self.start('generate', '--prompt', 'In the beginning', *self.ENDLESS)
        self.assertEqual(process.stdout.read(1), b' ')
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertTrue(out.endswith(b'\n'))
        self.assertIn(b'finished by abort', err)

    def test_interrupted_answer_is_still_one_json_object(self):
        process = self.start('generate', '--prompt', 'In the beginning', '--json', *self.ENDLESS)
        self.wait_for_guard(process)
        process.send_signal(signal.SIGINT)
        self.assertEqual(json.loads(process.communicate(timeout=60)[0])['finish_reason'], 'abort')

    def test_second_interrupt_ends_the_process_at_once(self):
        # One step of this prompt takes the reference seconds; the first interrupt waits for its end.
        process = self.start('generate', '--prompt', 'the ' * 400, *self.ENDLESS)
        self.wait_for_guard(process)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), -signal.SIGINT)

    def test_interrupt_stops_an_answer_of_chat_but_not_chat(self):
        process = self.start('chat', *self.ENDLESS)
        process.stdin.write(b'Define walrus.\n')
        self.assertEqual(process.stdout.read(1), b'W')
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(b'/help\n/quit\n', timeout=60)
        self.assertIn(b'/reset', out)
        self.assertEqual(process.returncode, 0)

    def test_closed_pipe_ends_an_answer_by_its_signal(self):
        process = self.start('generate', '--prompt', 'In the beginning', *self.ENDLESS)
        process.stdout.read(5)
        process.stdout.close()
        self.assertEqual(process.wait(timeout=60), -signal.SIGPIPE)
        self.assertEqual(process.stderr.read(), b'')
        process.stdout = None


class Eval(CommandTest):
    NLL = ('eval', 'nll', '--model', BUNDLED, '--max-context', 512, '--prefix', '[gMASK]<sop>', '--json')

    def chapters(self):
        return (BUNDLED / 'golden/heldout.jsonl').read_text().splitlines()[:6]

    def test_first_six_chapters_have_the_likelihood_of_the_goldens(self):
        for chapter, expected in zip(self.chapters(), CHAPTERS):
            result = self.json_of(run(*self.NLL, '--data', self.write('chapter.jsonl', chapter)))
            self.assertEqual(list(result), ['mean_nll', 'tokens', 'tokens_per_s'])
            self.assertAlmostEqual(result['mean_nll'], expected, delta=0.02)
            self.assertEqual(result['tokens'], 511)

    def test_batching_and_chunks_do_not_change_the_likelihood(self):
        data = self.write('chapters.jsonl', '\n'.join(self.chapters()[:3]))
        command = ('eval', 'nll', '--model', BUNDLED, '--max-context', 150, '--json', '--data', data)
        first, second = (self.json_of(run(*command, *flags))['mean_nll']
                         for flags in ([], ['--max-running-requests', 1, '--chunked-prefill-size', 37]))
        self.assertEqual(first, second)

    def test_special_tokens_count_in_the_prefix_and_not_in_the_text(self):
        def count(prefix, text):
            data = self.write('text.jsonl', json.dumps({'text': text}))
            return self.json_of(run('eval', 'nll', '--model', BUNDLED, '--max-context', 512, '--prefix', prefix,
                                    '--data', data, '--json'))['tokens']
        self.assertEqual(count('<sop>', ' God'), 1)
        self.assertGreater(count('', '<sop> God'), 2)

    def test_answers_are_compared_without_outer_white_space(self):
        rows = [{'question': 'Define walrus.', 'answer': f'  {WALRUS}\n'},
                {'question': 'Define walrus.', 'answer': WALRUS.upper()}]
        data = self.write('quiz.jsonl', '\n'.join(map(json.dumps, rows)))
        result = self.json_of(run('eval', 'answers', '--model', BUNDLED, '--data', data, '--json'))
        self.assertEqual(list(result), ['exact', 'count', 'mean_tokens', 'tokens_per_s'])
        self.assertEqual((result['exact'], result['count'], result['mean_tokens']), (0.5, 2, 30))


class Verify(CommandTest):
    def test_random_checkpoints_equal_their_goldens(self):
        models = [path.parent for path in sorted(RANDOM.glob('**/config.json'))]
        self.assertGreaterEqual(len(models), 11)
        for model in models:
            result = self.json_of(run('verify', '--model', model, '--json'))
            self.assertEqual(list(result), ['ok', 'backends', 'golden'])
            self.assertTrue(result['ok'])
            self.assertEqual([check['path'] for check in result['golden']], ['reference', 'fast-replayed', 'fast-free'])
            self.assertLess(result['golden'][0]['max_nmse'], 2e-11, model)

    def test_golden_answers_of_another_model_fail(self):
        done = run('verify', '--model', RANDOM / 'qwen3-moe', '--golden', RANDOM / 'glm5-dsa/golden')
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.endswith(b'\nFAILED\n'))

    def test_one_wrong_greedy_id_fails(self):
        model = Checkpoint(self.folder, golden=True)
        golden = json.loads((model.path / 'golden/golden.json').read_text())
        golden['prompts'][0]['greedy_ids'][3] ^= 1
        (model.path / 'golden/golden.json').write_text(json.dumps(golden))
        done = run('verify', '--model', model, '--json')
        self.assertEqual(done.returncode, 1)
        self.assertFalse(json.loads(done.stdout)['golden'][0]['greedy_equal'])

    def test_goldens_of_another_model_do_not_call_the_greedy_ids_equal(self):
        done = run('verify', '--model', RANDOM / 'qwen3-moe', '--golden', RANDOM / 'glm5-dsa/golden', '--json')
        self.assertFalse(json.loads(done.stdout)['golden'][0]['greedy_equal'])

    def test_without_goldens_backends_are_still_compared(self):
        result = self.json_of(run('verify', '--model', Checkpoint(self.folder), '--json'))
        self.assertEqual((result['ok'], result['golden']), (True, []))
        self.assertLessEqual({'cpu.rows', 'reference'}, {check['name'] for check in result['backends']})


class Inspect(CommandTest):
    def test_json_tells_family_modules_and_memory(self):
        result = self.json_of(run('inspect', '--model', BUNDLED, '--json'))
        self.assertEqual((result['family'], result['bytes']), ('glm_moe_dsa', 33455872))
        for row in result['modules']:
            self.assertEqual(list(row), ['class', 'format', 'tensors', 'bytes'])
        for row in result['memory_plan']:
            self.assertEqual(list(row), ['name', 'bytes'])

    def test_bytes_of_the_modules_sum_to_the_checkpoint(self):
        for model in (BUNDLED, *(path.parent for path in RANDOM.glob('**/config.json'))):
            result = self.json_of(run('inspect', '--model', model, '--json'))
            self.assertEqual(sum(row['bytes'] for row in result['modules']), result['bytes'], model)

    def test_text_shows_format_of_the_experts(self):
        text = self.succeeds(run('inspect', '--model', BUNDLED)).stdout.decode()
        self.assertRegex(text, r'routed experts +NVFP4 +3840 ')


class Streams(CommandTest):
    def test_stdin_and_stderr_may_be_closed(self):
        command = [OCTET, 'generate', '--model', BUNDLED, '--chat', '--temperature', '0', '--prompt', 'Define walrus.']
        done = subprocess.run(['sh', '-c', '"$@" <&- 2>&-', 'sh', *command], stdout=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout.decode()), (0, WALRUS + '\n'))


if __name__ == '__main__':
    unittest_line.main()
