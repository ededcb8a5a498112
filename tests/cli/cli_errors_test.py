"""What octet says to input that is wrong: exit status 2 for bad usage and 1 otherwise, nothing on stdout, and one
message that names the place, what was expected and what was found."""

import json
import os
import resource
import subprocess

from octet_command import BUNDLED, OCTET, RANDOM, Checkpoint, CommandTest, greedy, run, unittest_line


class BadUsage(CommandTest):
    GENERATE = ('generate', '--model', BUNDLED, '--prompt', 'God')

    def test_missing_command_is_bad_usage(self):
        self.refuses(run(), 2)
        self.refuses(run('eval'), 2)

    def test_unknown_command_is_named_beside_the_known_ones(self):
        self.refuses(run('generated'), 2, 'generated', 'generate')
        self.refuses(run('eval', 'nil'), 2, 'nil', 'nll')

    def test_missing_required_flags_are_named(self):
        self.refuses(run('generate', '--prompt', 'God'), 2, '--model')
        self.refuses(run('generate', '--model', BUNDLED), 2, '--prompt')
        self.refuses(run('eval', 'nll', '--model', BUNDLED, '--max-context', 5), 2, '--data')
        self.refuses(run('eval', 'nll', '--model', BUNDLED, '--data', 'x.jsonl'), 2, '--max-context')

    def test_unknown_flags_and_surplus_words_are_named(self):
        self.refuses(run(*self.GENERATE, '--bogus'), 2, '--bogus')
        self.refuses(run(*self.GENERATE, 'surplus'), 2, 'surplus')
        self.refuses(run(*self.GENERATE, '--stop', 'a', 'surplus'), 2, 'surplus')
        self.refuses(run('inspect', '--model', BUNDLED, '--temperature', 0), 2, '--temperature')

    def test_values_that_are_no_numbers_are_named(self):
        for flag, value in (('--max-tokens', 'many'), ('--temperature', 'hot'), ('--seed', 'x'), ('--top-k', '1.5'),
                            ('--threads', '1e3'), ('--context-length', '5 '), ('--mem-fraction-static', 'x')):
            self.refuses(run(*self.GENERATE, flag, value), 2, flag, value)

    def test_counts_out_of_range_are_named(self):
        for flag, value in (('--max-tokens', 0), ('--max-tokens', -1), ('--threads', -1), ('--threads', 5000),
                            ('--chunked-prefill-size', 0), ('--max-running-requests', 0),
                            ('--mem-fraction-static', 0), ('--mem-fraction-static', 2)):
            self.refuses(run(*self.GENERATE, flag, value), 2, flag, value)

    def test_values_outside_their_set_are_named(self):
        self.refuses(run(*self.GENERATE, '--compute', 'slow'), 2, '--compute', 'slow', 'reference')
        self.refuses(run(*self.GENERATE, '--device', 'gpu'), 2, '--device', 'gpu', 'cpu')

    def test_chat_has_no_json(self):
        self.refuses(run('chat', '--model', BUNDLED, '--json'), 2, '--json', 'generate')

    def test_context_of_one_token_predicts_nothing(self):
        data = self.write('text.jsonl', '{"text": "In the beginning"}')
        for length in (1, 0, -1):
            self.refuses(run('eval', 'nll', '--model', BUNDLED, '--data', data, '--max-context', length), 2,
                         '--max-context', length)

    def test_ranges_are_written_as_a_person_would(self):
        for flag in ('--context-length', '--max-tokens'):
            message = self.refuses(run(*self.GENERATE, flag, -1), 2, flag)
            self.assertLess(max(map(len, message.splitlines())), 200)

    def test_numbers_that_would_wrap_or_are_empty_or_nan_are_named(self):
        for flag, value in (('--seed', '-1'), ('--seed', '18446744073709551616'), ('--seed', ''),
                            ('--temperature', ''), ('--mem-fraction-static', 'nan')):
            self.refuses(run(*self.GENERATE, flag, value), 2, flag)

    def test_system_message_without_chat_is_refused(self):
        self.refuses(run(*self.GENERATE, '--system', 'Be brief.'), 2, '--system', '--chat')

    def test_sampling_settings_out_of_range_are_refused_before_a_model_is_opened(self):
        for flag, value in (('--temperature', -1), ('--temperature', 'nan'), ('--temperature', 'inf'), ('--top-p', 0),
                            ('--top-p', 1.5), ('--min-p', -0.1), ('--min-p', 2), ('--top-k', -2),
                            ('--repetition-penalty', 0), ('--presence-penalty', 3), ('--frequency-penalty', 'nan')):
            for command in (('generate', '--prompt', 'God'), ('chat',)):
                self.refuses(run(*command, '--model', self.folder / 'absent', flag, value), 2, flag, value)


class CannotServe(CommandTest):
    def test_prompt_without_tokens_is_refused(self):
        self.refuses(greedy(''), 1, 'at least one token')

    def test_prompt_and_answer_longer_than_the_context_are_refused_with_numbers(self):
        self.refuses(greedy('word ' * 600), 1, '512 tokens', '602')
        self.refuses(greedy('God', '--max-tokens', 600), 1, '512 tokens', '600')

    def test_context_beyond_the_model_is_refused_with_both_lengths(self):
        self.refuses(greedy('God', '--context-length', 513), 1, '--context-length 513', '512 tokens')

    def test_what_this_build_cannot_do_is_said(self):
        self.refuses(greedy('God', '--device', 'cuda'), 1, 'no CUDA', '--device cpu')
        self.refuses(greedy('God', '--numerics', 'int8'), 1, '--numerics int8', 'exact16')
        self.refuses(greedy('God', '--dense-dtype', 'fp8'), 1, '--dense-dtype fp8', 'bf16')

    def test_forced_backend_that_cannot_run_is_refused_with_the_list_of_all(self):
        for name in ('marlin', 'nonsense', 'cuda.fp4_rows'):
            for command in ('inspect', 'verify'):
                self.refuses(run(command, '--model', RANDOM / 'qwen3-moe', '--moe-runner-backend', name), 1, name,
                             'cpu.rows', 'reference')
            self.refuses(greedy('God', '--moe-runner-backend', name), 1, name, 'cpu.rows', 'reference')

    def test_alias_of_a_backend_is_refused_with_the_backends_it_stands_for(self):
        self.refuses(greedy('God', '--moe-runner-backend', 'marlin'), 1, 'cuda.fp4_rows', 'CUDA')

    def test_answer_too_long_for_the_context_names_the_flag(self):
        self.refuses(greedy('God', '--max-tokens', 600), 1, '--max-tokens')

    def test_default_length_of_an_answer_beyond_the_context_is_cut(self):
        model = Checkpoint(self.folder, BUNDLED)
        (model.path / 'generation_config.json').write_text('{"max_new_tokens": 2048, "eos_token_id": 8187}')
        self.succeeds(greedy('Define walrus.', '--chat', model=model))

    def test_more_threads_than_the_system_gives_are_refused(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
        if run('--version', before=limit).returncode != 0:
            self.skipTest('needs more address space: built with sanitizers')
        done = run('inspect', '--model', RANDOM / 'qwen3-moe', '--threads', 1000, before=limit, time_limit_s=30)
        self.refuses(done, 1, '--threads')


class BadFolder(CommandTest):
    def inspect(self, model):
        return run('inspect', '--model', model)

    def test_what_is_no_folder_is_named(self):
        for path in (self.folder / 'absent', BUNDLED / 'config.json', '/dev/null'):
            self.refuses(self.inspect(path), 1, path, 'expected a folder', 'config.json')

    def test_folder_without_config_is_named(self):
        self.refuses(self.inspect(self.folder), 1, self.folder / 'config.json', 'no such file')

    def test_folder_without_weights_is_named(self):
        model = Checkpoint(self.folder)
        (model.path / 'model.safetensors').unlink()
        self.refuses(self.inspect(model), 1, model, 'safetensors')

    def test_text_without_tokenizer_is_refused(self):
        self.refuses(greedy('God', model=RANDOM / 'qwen3-moe'), 1, 'qwen3-moe', 'tokenizer.json')
        self.refuses(run('chat', '--model', RANDOM / 'qwen3-moe'), 1, 'qwen3-moe', 'tokenizer.json')

    def test_chat_without_template_is_refused_and_plain_text_is_not(self):
        model = Checkpoint(self.folder, BUNDLED)
        (model.path / 'chat_template.jinja').unlink()
        self.refuses(greedy('God', '--chat', model=model), 1, model, 'chat template')
        self.succeeds(greedy('God', '--max-tokens', 1, model=model))

    def test_error_of_a_template_is_named_with_file_and_line(self):
        model = Checkpoint(self.folder, BUNDLED)
        for text, reason in (("\n{{ raise_exception('roles must alternate') }}", ':2: roles must alternate'),
                             ('{% for %}', ':1: expected'), ('{{ 1 / 0 }}', ':1: division by zero'),
                             ('{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}', 'nested deeper')):
            (model.path / 'chat_template.jinja').write_text(text)
            self.refuses(greedy('God', '--chat', model=model), 1, 'chat_template.jinja', reason)

    def test_template_that_raises_ends_a_message_of_chat_but_not_chat(self):
        model = Checkpoint(self.folder, BUNDLED)
        (model.path / 'chat_template.jinja').write_text("{{ raise_exception('never') }}")
        done = self.succeeds(run('chat', '--model', model, stdin=b'hello\n/help\n'))
        self.assertIn(b'never', done.stderr)
        self.assertIn(b'/reset', done.stdout)

    def test_files_that_are_not_the_json_they_should_be_are_named(self):
        for name in ('config.json', 'generation_config.json', 'tokenizer.json', 'tokenizer_config.json'):
            for content in ('[' * 100_000, '{"a": 1, "a": 2}'):
                with self.subTest(name=name, content=content[:10]):
                    model = Checkpoint(self.folder / name / content[:2], BUNDLED)
                    (model.path / name).write_text(content)
                    self.refuses(greedy('God', model=model), 1, name)

    def test_broken_json_is_named_with_line_and_column(self):
        for name in ('config.json', 'generation_config.json', 'tokenizer.json', 'tokenizer_config.json',
                     'hf_quant_config.json'):
            for content in ('', '{', '{"a": 1}{', 'nothing'):
                with self.subTest(name=name, content=content):
                    model = Checkpoint(self.folder / name / (content[:4] or 'empty'), BUNDLED)
                    (model.path / name).write_text(content)
                    self.refuses(greedy('God', model=model), 1, name, 'line 1')


class BadShards(CommandTest):
    SHARDED = RANDOM / 'variants/qwen-sliding-tied'

    def refuses_to_inspect(self, model, *parts):
        self.refuses(run('inspect', '--model', model), 1, *parts)

    def edited_index(self, change):
        model = Checkpoint(self.folder, self.SHARDED)
        file = model.path / 'model.safetensors.index.json'
        index = json.loads(file.read_text())
        change(index['weight_map'])
        file.write_text(json.dumps(index))
        return model

    def test_missing_shard_is_named(self):
        model = Checkpoint(self.folder, self.SHARDED)
        (model.path / 'model-00002-of-00002.safetensors').unlink()
        self.refuses_to_inspect(model, 'model.safetensors.index.json', 'model-00002-of-00002.safetensors')

    def test_index_that_names_an_absent_file_is_refused(self):
        model = self.edited_index(lambda names: names.update({'model.norm.weight': 'model-00003-of-00002.safetensors'}))
        self.refuses_to_inspect(model, 'model.safetensors.index.json', 'model-00003-of-00002.safetensors')

    def test_index_that_points_out_of_the_folder_is_refused(self):
        for number, name in enumerate(('../x.safetensors', '/etc/passwd', 'sub/x.safetensors')):
            self.folder = self.folder / str(number)
            model = self.edited_index(lambda names: names.update({'model.norm.weight': name}))
            self.refuses_to_inspect(model, 'model.safetensors.index.json', name)

    def test_index_that_promises_a_tensor_no_file_holds_is_refused(self):
        model = self.edited_index(lambda names: names.update({'model.extra': 'model-00001-of-00002.safetensors'}))
        self.refuses_to_inspect(model, 'model.safetensors.index.json', 'model.extra')

    def test_folder_without_index_is_read(self):
        model = Checkpoint(self.folder, self.SHARDED)
        (model.path / 'model.safetensors.index.json').unlink()
        self.succeeds(run('inspect', '--model', model))

    def test_link_out_of_the_folder_is_refused_and_a_link_to_the_folder_is_not(self):
        model = Checkpoint(self.folder)
        os.symlink(model.path, self.folder / 'link')
        self.succeeds(run('inspect', '--model', self.folder / 'link'))
        (model.path / 'model.safetensors').rename(self.folder / 'elsewhere.safetensors')
        os.symlink(self.folder / 'elsewhere.safetensors', model.path / 'model.safetensors')
        self.refuses_to_inspect(model, 'model.safetensors', 'link')

    def test_file_of_wrong_length_is_named(self):
        model = Checkpoint(self.folder)
        file = model.path / 'model.safetensors'
        whole = file.read_bytes()
        for damaged in (b'', whole[:7], whole[:100], whole[:-1000], whole + b'tail', b'\xff' * 8 + whole[8:],
                        b'version https://git-lfs.github.com/spec/v1\n'):
            file.write_bytes(damaged)
            self.refuses_to_inspect(model, file, 'fetch')

    def test_header_that_lies_is_refused_with_file_and_tensor(self):
        for number, changes in enumerate(({'shape': [383, 96]}, {'shape': [-384, -96]}, {'shape': [2**62, 2**62]},
                                          {'dtype': 'I64'}, {'dtype': 'XYZ'}, {'dtype': 3},
                                          {'data_offsets': [2**40, 2**41]}, {'data_offsets': [-8, 8]})):
            with self.subTest(**changes):
                model = Checkpoint(self.folder / str(number))
                model.edit_header(lambda header: header['lm_head.weight'].update(changes))
                self.refuses_to_inspect(model, model.path / 'model.safetensors')

    def test_tensor_of_another_shape_is_refused_with_both_shapes(self):
        model = Checkpoint(self.folder)
        model.edit_header(lambda header: header['lm_head.weight'].update(shape=[96, 384]))
        self.refuses_to_inspect(model, 'model.safetensors', 'lm_head.weight', '[384, 96]', '[96, 384]')

    def test_missing_and_surplus_tensors_are_named(self):
        model = Checkpoint(self.folder)
        model.edit_header(lambda header: header.update({'model.surplus': header.pop('model.norm.weight')}))
        self.refuses_to_inspect(model, '1 missing', '1 surplus', 'model.norm.weight', 'model.surplus')

    def test_layers_beyond_those_of_the_config_are_surplus(self):
        model = Checkpoint(self.folder)
        model.edit_json('config.json', num_hidden_layers=3)
        self.refuses_to_inspect(model, 'surplus', 'model.layers.3.')


class BadConfig(CommandTest):
    def refused(self, source, *parts, **values):
        with self.subTest(**values):
            folder = self.folder / str(len(os.listdir(self.folder)))
            model = Checkpoint(folder, source)
            model.edit_json('config.json', **values)
            self.refuses(run('inspect', '--model', model), 1, *parts)

    def test_sizes_that_are_no_sizes_are_named_with_what_stands_there(self):
        for value in (-1, 0, 10**12, '96', 96.5, [96], True):
            self.refused(RANDOM / 'qwen3-moe', 'config.json: hidden_size: expected', json.dumps(value),
                         hidden_size=value)

    def test_missing_size_is_named(self):
        self.refused(RANDOM / 'qwen3-moe', 'config.json: hidden_size', 'missing', hidden_size=None)

    def test_sizes_that_disagree_with_the_weights_are_refused(self):
        for key, value in (('hidden_size', 192), ('num_hidden_layers', 5), ('vocab_size', 383), ('num_experts', 13),
                           ('moe_intermediate_size', 40), ('num_attention_heads', 2)):
            self.refused(RANDOM / 'qwen3-moe', 'config.json', 'expected', **{key: value})

    def test_settings_that_make_no_sense_are_named(self):
        for key, value in (('num_experts_per_tok', 65), ('n_group', 3), ('topk_group', 2), ('hidden_act', 'gelu'),
                           ('scoring_func', 'softmax'), ('index_topk', 0), ('rms_norm_eps', 'x'),
                           ('tie_word_embeddings', 'yes'), ('max_position_embeddings', -1)):
            self.refused(RANDOM / 'glm5-dsa', f'config.json: {key}: ', **{key: value})

    def test_unknown_kind_of_rope_is_named(self):
        self.refused(RANDOM / 'glm5-dsa', 'config.json: rope_type', '"weird"',
                     rope_parameters={'rope_type': 'weird', 'rope_theta': 1e4})

    def test_unknown_family_is_refused_with_the_known_ones(self):
        self.refused(RANDOM / 'qwen3-moe', 'config.json: architectures', 'LlamaForCausalLM', 'GlmMoeDsaForCausalLM',
                     'Qwen3MoeForCausalLM', architectures=['LlamaForCausalLM'], model_type='llama')

    def test_format_that_is_not_read_is_refused_with_those_that_are(self):
        for config in ({'quant_method': 'gptq'}, {'quant_method': 'modelopt', 'quant_algo': 'FP8'}):
            self.refused(RANDOM / 'qwen3-moe', 'quantization_config', 'NVFP4', 'BF16', quantization_config=config)

    def test_defaults_of_the_wrong_type_are_named(self):
        model = Checkpoint(self.folder, BUNDLED)
        for key, value in (('temperature', 'hot'), ('top_k', 1.5), ('eos_token_id', 'x'), ('eos_token_id', -5)):
            (model.path / 'generation_config.json').write_text(json.dumps({key: value}))
            self.refuses(run('generate', '--model', model, '--prompt', 'God'), 1, key, json.dumps(value))

    def test_epsilon_that_is_not_positive_is_named(self):
        for value in (-1, 0):
            self.refused(RANDOM / 'qwen3-moe', 'config.json: rms_norm_eps: ', str(value), rms_norm_eps=value)

    def test_yarn_without_factor_is_refused(self):
        self.refused(RANDOM / 'glm5-dsa', 'factor', rope_parameters={'rope_type': 'yarn', 'rope_theta': 1e4})

    def test_value_of_a_default_is_named_with_its_file(self):
        model = Checkpoint(self.folder, BUNDLED)
        for key, value in (('temperature', -1), ('top_p', 3), ('eos_token_id', 'x'), ('max_new_tokens', 0)):
            (model.path / 'generation_config.json').write_text(json.dumps({key: value}))
            self.refuses(run('generate', '--model', model, '--prompt', 'God'), 1, 'generation_config.json', key)


class BadData(CommandTest):
    def refuses_nll(self, content, *parts, flags=(), status=1):
        flags = flags or ('--max-context', 512)
        done = run('eval', 'nll', '--model', BUNDLED, '--data', self.write('data.jsonl', content), *flags)
        self.refuses(done, status, *parts)

    def test_missing_file_and_folder_are_named(self):
        for command in (('nll', '--max-context', 512), ('answers',)):
            for path in (self.folder / 'absent.jsonl', self.folder):
                self.refuses(run('eval', *command, '--model', BUNDLED, '--data', path), 1, path)

    def test_file_without_lines_is_refused(self):
        self.refuses_nll('', 'data.jsonl', 'at least one line')
        self.refuses_nll('\n \n', 'data.jsonl', 'at least one line')

    def test_line_that_is_no_such_object_is_named_by_its_number(self):
        for line in ('{"txt": "a"}', '["text"]', '{"text": 3}', '3'):
            self.refuses_nll('{"text": "In the beginning"}\n\n' + line, 'data.jsonl:3: ', '"text"')

    def test_quiz_without_answers_is_refused(self):
        data = self.write('quiz.jsonl', '{"question": "Define walrus."}')
        self.refuses(run('eval', 'answers', '--model', BUNDLED, '--data', data), 1, 'quiz.jsonl:1: ', '"answer"')

    def test_text_beyond_the_context_is_refused_with_the_length(self):
        self.refuses_nll('{"text": "%s"}' % ('word ' * 100), '100 tokens',
                         flags=('--max-context', 512, '--context-length', 100), status=2)

    def test_data_without_anything_to_predict_are_refused(self):
        self.refuses_nll('{"text": ""}', 'data.jsonl')
        self.refuses_nll('{"text": "a"}', 'data.jsonl')

    def test_max_context_beyond_the_context_is_refused_by_its_name(self):
        self.refuses_nll('{"text": "%s"}' % ('word ' * 600), '--max-context', '512 tokens, got 513',
                         flags=('--max-context', 513), status=2)

    def test_question_too_long_for_the_context_is_named_by_its_line(self):
        rows = [{'question': 'Define walrus.', 'answer': 'x'}, {'question': 'word ' * 600, 'answer': 'x'}]
        data = self.write('quiz.jsonl', '\n'.join(map(json.dumps, rows)))
        self.refuses(run('eval', 'answers', '--model', BUNDLED, '--data', data), 1, 'quiz.jsonl:2: ', '512 tokens')


class BadGolden(CommandTest):
    def refuses_golden(self, *parts, **first_prompt):
        model = Checkpoint(self.folder / str(len(os.listdir(self.folder))), golden=True)
        golden = json.loads((model.path / 'golden/golden.json').read_text())
        golden['prompts'][0].update(first_prompt)
        (model.path / 'golden/golden.json').write_text(json.dumps(golden))
        self.refuses(run('verify', '--model', model), 1, 'golden.json: prompts[0]', *parts)

    def test_folder_without_goldens_is_named(self):
        for folder in (self.folder / 'absent', self.folder, BUNDLED / 'config.json'):
            self.refuses(run('verify', '--model', RANDOM / 'qwen3-moe', '--golden', folder), 1, f'{folder}/golden.json')

    def test_ids_beyond_the_vocabulary_are_refused(self):
        self.refuses_golden('384', '1000000', ids=[1, 10**6])
        self.refuses_golden('greedy_ids', greedy_ids=None)

    def test_goldens_without_their_tensors_are_named(self):
        model = Checkpoint(self.folder, golden=True)
        (model.path / 'golden/golden.safetensors').unlink()
        self.refuses(run('verify', '--model', model), 1, 'golden.safetensors')

    def test_goldens_without_prompts_are_refused(self):
        model = Checkpoint(self.folder, golden=True)
        (model.path / 'golden/golden.json').write_text('{"prompts": []}')
        self.refuses(run('verify', '--model', model), 1, 'golden.json', 'prompts')

    def test_prompt_without_logits_is_refused(self):
        model = Checkpoint(self.folder, golden=True)
        file = model.path / 'golden/golden.safetensors'
        file.write_bytes(file.read_bytes().replace(b'logits_all', b'logits_odd'))
        self.refuses(run('verify', '--model', model), 1, 'logits')

    def test_margins_that_are_no_numbers_are_refused(self):
        self.refuses_golden('greedy_margins', greedy_margins=['x'])
        self.refuses_golden('greedy_margins', greedy_margins=3)

    def test_prompt_longer_than_the_context_is_refused(self):
        self.refuses_golden('1024', ids=[1] * 1100)


class UnwritableOutput(CommandTest):
    def test_output_that_cannot_be_written_is_an_error(self):
        for command in (('generate', '--prompt', 'God', '--max-tokens', '1'), ('inspect',), ('inspect', '--json')):
            for closed in ('>/dev/full', '>&-'):
                done = subprocess.run(['sh', '-c', f'"$@" {closed}', 'sh', OCTET, *command, '--model', BUNDLED],
                                      capture_output=True)
                self.refuses(done, 1, 'stdout')


if __name__ == '__main__':
    unittest_line.main()
