#!/usr/bin/env python3
"""Writes data/*.json (small tokenizers of every style that octet reads) and golden.json (what Python's `tokenizers`
makes of nasty texts with them). Needs `pip install tokenizers`; written with version 0.23.3.

    python3 tests/tokenizer/make_golden.py
"""

import json
import pathlib

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE.parent.parent / "models" / "tiny-glm5-nvfp4"
BUNDLED = "models/tiny-glm5-nvfp4/tokenizer.json"

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
QWEN3 = CONTRACTIONS + (
    r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK = [
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"""
    r"""|\s*[\r\n]+|\s+(?!\S)|\s+""",
]
GPT_OSS = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + CONTRACTIONS + "?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + CONTRACTIONS + "?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")

CODE = """for (int i = 0; i < 10; ++i) {\r\n\tx[i] *= 2;  // don't\n}\ndef f(self, **kwargs):\n    return self.data[1:-1]\n"""
WORLD = ("Ваше слово, naïve café ÀÉÎ, 你好，世界！こんにちは カタカナ 한국어 العربية עברית हिन्दी ไทย Ελληνικά ǅ ʰ ½ Ⅷ ٣ "
         "👍🏽 👩‍👩‍👧 e\u0301 A\u030a \u212b \u1e9b\u0323 ")


def corpus():
    chapters = [json.loads(line)["text"] for line in open(MODEL / "golden" / "heldout.jsonl", encoding="utf-8")]
    return chapters[:6] + [CODE, WORLD] * 4


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(pattern, behavior, invert)


def byte_level(add_prefix_space=False, use_regex=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space, use_regex=use_regex)


def train(pre_tokenizer, normalizer=None, size=900, alphabet=None, **model):
    tokenizer = Tokenizer(models.BPE(**model))
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    special = [model["unk_token"]] if "unk_token" in model else []
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, special_tokens=special,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet() if alphabet is None else alphabet)
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def qwen3_style():
    tokenizer = train(pre_tokenizers.Sequence([split(Regex(QWEN3)), byte_level()]), normalizers.NFC())
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False)
                                  for t in ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]])
    tokenizer.add_tokens([AddedToken(t, normalized=False) for t in ["<tool_call>", "</tool_call>", "<think>", "</think>"]])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return json.loads(tokenizer.to_str())


def deepseek_style():
    steps = [split(Regex(pattern)) for pattern in DEEPSEEK] + [byte_level()]
    tokenizer = train(pre_tokenizers.Sequence(steps), normalizers.Sequence([]))
    bos = "<\uff5cbegin\u2581of\u2581sentence\uff5c>"
    tokenizer.add_special_tokens([AddedToken(bos, special=True, normalized=False),
                                  AddedToken("<\uff5cend\u2581of\u2581sentence\uff5c>", special=True, normalized=False)])
    tokenizer.add_tokens([AddedToken("<\uff5cUser\uff5c>", normalized=True), AddedToken("<\uff5cUser\uff5c>x", normalized=True),
                          AddedToken("<|EOT|>", special=True, normalized=True)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A", special_tokens=[(bos, tokenizer.token_to_id(bos))])
    document = json.loads(tokenizer.to_str())
    document["model"]["merges"] = [" ".join(pair) for pair in document["model"]["merges"]]
    return document


def gpt_oss_style():
    tokenizer = train(pre_tokenizers.Sequence([split(Regex(GPT_OSS)), byte_level()]))
    document = json.loads(tokenizer.to_str())
    model = document["model"]
    model["ignore_merges"] = True
    del model["merges"][::7]  # some tokens are then reached as whole pieces only, others not at all
    vocab = len(model["vocab"])
    for i, content in enumerate(["<|startoftext|>", "<|end|>", "<|endoftext|>", "<|start|>", "<|message|>"]):
        document["added_tokens"].append(dict(id=vocab + i, content=content, single_word=False, lstrip=False,
                                             rstrip=False, normalized=False, special=True))
    return document


def gpt2_style():
    """The old style: GPT-2's pattern, a space in front, and every flag of added tokens."""
    tokenizer = train(byte_level(add_prefix_space=True, use_regex=True), normalizers.NFC(), size=700)
    tokenizer.add_tokens([
        AddedToken("<mask>", lstrip=True, normalized=False), AddedToken("<right>", rstrip=True, normalized=False),
        AddedToken("<both>", lstrip=True, rstrip=True, normalized=True),
        AddedToken("word", single_word=True, normalized=True), AddedToken("wordy", single_word=True, normalized=False),
        AddedToken("z\u030cx", normalized=True), AddedToken("A\u030a", normalized=False),
        AddedToken("ab", normalized=False), AddedToken("abcd", normalized=False), AddedToken(" ab", lstrip=True, normalized=False),
        AddedToken("  ", normalized=False), AddedToken("bcde", normalized=False)])
    tokenizer.add_special_tokens([AddedToken("</s>", special=True)])
    end = tokenizer.token_to_id("</s>")
    tokenizer.post_processor = processors.Sequence(
        [processors.ByteLevel(), processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", end)])])
    return json.loads(tokenizer.to_str())


def split_behaviors():
    """Every behavior of Split, string patterns, Digits, and bytes that no token stands for."""
    steps = [split(Regex(r"[,;]+"), "merged_with_previous"), split(Regex(r"(?i:th|q)"), "merged_with_next"),
             split("::", "removed"), split(Regex(r"[.!?]"), "contiguous"), split(Regex(r"[\w\s\-']+"), "isolated", True),
             split(Regex(r"(?=[A-Z])"), "isolated"), pre_tokenizers.Digits(individual_digits=False), byte_level()]
    alphabet = sorted(set(pre_tokenizers.ByteLevel.alphabet()) - set("zZ%"))
    return json.loads(train(pre_tokenizers.Sequence(steps), normalizers.NFKC(), size=600, alphabet=alphabet,
                            unk_token="<unk>", fuse_unk=True).to_str())


TEXTS = [
    "", " ", "  ", "a", "\n", "\r\n", "\r\n\r\n\n", "\t", "   \n   \n", "x   y", "x  \n  y", "trailing   ",
    "Hello, world!", "I'll pay $1,234.56 by 2026-08-22.", "  leading and   inner  spaces\n\n\ttab",
    "don't DON'T can'T we'Re I'M you'LL they'd 'tis it's' 's 'S ''s", "it\u2019s \u017f'\u017f",
    "0 12 123 1234 12345 123456789012345678901234567890", "\u0663\u0664\u0665\u0666 \u00bd\u2167\u2460 \u4e00\u4e8c 1\u06602",
    CODE, "a.b.c(d)[e]{f}<g>\\h\"i`j~k|l^m&n*o", "HTTPServerError/camelCaseXYZ\r\n  end  ", "ABCdefGHIjkl aBcDeF XMLHttp",
    WORLD, "\u4f60\u597d\uff0c\u4e16\u754c\uff01 GPT\u6a21\u578b12345\u3072\u3089\u30ab\u30bf\u9fa6",
    "e\u0301 A\u030a \u00e9 \u212b \u1e9b\u0323 q\u0307\u0323 \u1100\u1161\u11a8 \uac01 \ufb01 \u00b5 \u2126 \u0958",
    "\u0301alone \u0301\u0323\u0301 a\u0323\u0301\u0300\u0327z", "z\u030cx \u017ex \u017e\u0323x z\u0323\u030cx A\u030a \u00c5",
    "\U0001f44d\U0001f3fd \U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u2764\ufe0f a\u200db\u200cc",
    "\ud7ff\ue000 \uffff\ufffe \U00010000 \U0010ffff \ufeffbom", "a\u00a0b\u00a0\u00a0c \u00a0 d", "a\u0085b\u0085\u0085c \u0085",
    "a\u3000b\u3000\u3000c", "a\u2028b\u2029c\u180ed\u1680e\u200bf\u205fg\u2060h", "\u2003\u2003x \u2003\n\u2003", "\u000b\u000c\u001c\u001d\u001e\u001f",
    "\u0000\u0001\u007f\u0000", "%zZ% pizzazz 100%z", "__init__ _x_ \u203f\u2040 snake_case kebab-case", "...!!!???\u2026\u3002\u3002", "\u2028\u2028 x",
    "(\r\n)\n/\n//\n /\r\n", "'''\"\"\"\n\n", "\u01c5\u01c6 \u02b0\u02b1 \u0345\u0300A \u1f80 \u24b6\u24d0 \u2170", "caf\u00e9's na\u00efve'LL \u00c9'D",
    "a,b;c,,d ;;e ,", "The thing THAT quits Qq tH", "a::b:::c::::d ::", "one.two..three!?four", "AbcDefGHI", "a1b22c333 4 5", "\u0e33\u0e01\u0e34 \u0939\u093f\u0928\u094d\u0926\u0940",
    "<|endoftext|>", "a<|im_start|>user\nhi<|im_end|>\n", "<think>a</think>b <tool_call>{}</tool_call>", "<|im_<|im_end|>start|>",
    "<\uff5cbegin\u2581of\u2581sentence\uff5c><\uff5cUser\uff5c>x<\uff5cUser\uff5c> y<|EOT|>", "[gMASK]<sop><|user|>Define walrus.<|assistant|><think></think>",
    "<|start|>system<|message|>x<|end|><|start|>assistant", "x <mask> y\u3000<mask>z<mask>", "x <right> \n y<right>", "x <both>  <both> y", " <right>  <mask>  x",
    "word wordy swordy word's _word word1 (word) w\u00f6rd word\u0301 word\u200d", "<right> ab<right>   ab<right>  x<both>  ab", "abcde abab abcd bcde xabcdx", "</s> a </s></s>",
    "Antidisestablishmentarianism " * 3, "the the the\nThe theThe", "\u00df\u1e9e SS \u0130i \u212a k",
]

STYLES = [qwen3_style, deepseek_style, gpt_oss_style, gpt2_style, split_behaviors]


def expectations(tokenizer):
    """Ids of each text: matched normally, with special tokens as plain text, and decoded where that is another text."""
    cases = []
    for text in TEXTS:
        tokenizer.encode_special_tokens = False
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        case = {"ids": ids}
        with_added = tokenizer.encode(text, add_special_tokens=True).ids
        tokenizer.encode_special_tokens = True
        plain = tokenizer.encode(text, add_special_tokens=False).ids
        decoded = [tokenizer.decode(ids, skip_special_tokens=False), tokenizer.decode(ids, skip_special_tokens=True)]
        if with_added != ids:
            case["with_added"] = with_added
        if plain != ids:
            case["special_as_text"] = plain
        if decoded[0] != text:
            case["decoded"] = decoded[0]
        if decoded[1] != decoded[0]:
            case["decoded_skipping"] = decoded[1]
        cases.append(case)
    return cases


def main():
    files = [BUNDLED]
    for style in STYLES:
        path = HERE / "data" / f"{style.__name__}.json"
        path.write_text(json.dumps(style(), ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
        files.append(f"tests/tokenizer/data/{path.name}")
    golden = {"texts": TEXTS, "tokenizers": []}
    for file in files:
        tokenizer = Tokenizer.from_file(str(HERE.parent.parent / file))
        golden["tokenizers"].append({"file": file, "cases": expectations(tokenizer)})
    lines = ["{", f'"texts": {json.dumps(TEXTS)},', '"tokenizers": [']
    entries = []
    for entry in golden["tokenizers"]:
        cases = ",\n".join(json.dumps(case, separators=(",", ":")) for case in entry["cases"])
        entries.append(f'{{"file": {json.dumps(entry["file"])}, "cases": [\n{cases}]}}')
    lines += [",\n".join(entries), "]}"]
    (HERE / "golden.json").write_text("\n".join(lines) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
