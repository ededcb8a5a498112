#!/usr/bin/env python3
"""Makes small random checkpoints of qwen3_moe and glm_moe_dsa with goldens by the Hugging Face implementation.

Each variant has settings that the example checkpoints lack: other shapes, routers, rope types, bias tensors, dtypes,
file layouts and NVFP4 weights. A variant is a folder in the published layout of its family:

  config.json, *.safetensors (, model.safetensors.index.json, hf_quant_config.json)
  golden/golden.json         prompts, 12 greedy ids each, and per greedy step the margin between the two best logits
  golden/golden.safetensors  logits_all.J: float32 logits [T, V] of prompt J; of the last 8 positions if T > 100

The reference is transformers in float32 with eager attention. Two choices are ours:
  * equal index scores: the lower key index wins (a stable sort instead of torch.topk, whose tie order is unspecified);
  * NVFP4: the goldens use the dequantized weights, so input_scale has no effect.
A draw of the weights is refused, and the next seed tried, when float32 and float64 disagree: then a router or an
indexer stands so near a tie that another correct implementation may choose otherwise. So is one that answers with the
end-of-text id, where a generator would stop.

Needs    torch 2.11, transformers 5.17, safetensors. One core and no accelerator; about a second a variant.
Usage    make_variants.py OUT              the small set, in tests/data/variants of this repository
         make_variants.py OUT --large      the larger set (about 60 variants, up to 3 MB each), for use outside it
         make_variants.py OUT --only NAME  one variant of the chosen set
"""

import argparse
import copy
import dataclasses
import fnmatch
import json
import pathlib
import re
import shutil

import torch
import transformers
from safetensors.torch import save_file

GREEDY_STEPS = 12
LAST_ROWS = 8         # rows kept of a prompt too long to keep whole
LONG_PROMPT = 100
MAX_NMSE = 1e-10      # float32 against float64, worst row; a choice that flips gives more than 1e-4
MAX_SEEDS = 40
MIN_MARGIN = 5e-3     # of a greedy step; logits are of order 1 and float32 errors of order 1e-6
EAGER = {"dtype": torch.float32, "attn_implementation": "eager", "experts_implementation": "eager"}


@dataclasses.dataclass
class Nvfp4:
    """Which modules are stored as NVFP4 and how the checkpoint says so."""
    modules: list                       # wildcards on module names
    exclude: list                       # what the quantization config says is not quantized
    config_file: str                    # "config.json" or "hf_quant_config.json"
    shared_amax: bool = True            # one tensor scale for gate and up, and for q, k and v, as the exporter does
    scalar_shape: tuple = ()            # of weight_scale_2 and input_scale
    input_scale: bool = True


@dataclasses.dataclass
class Variant:
    name: str
    config: dict
    dtype: torch.dtype = torch.bfloat16
    nvfp4: Nvfp4 | None = None
    shards: int = 1
    fused_experts: bool = False         # 3-D expert tensors, as transformers keeps them in memory
    mtp_layer: bool = False             # a next-token-prediction layer after the last one; the logits do not use it
    spare_indexers: bool = False        # indexer tensors in layers that share the indices of an earlier one
    prefix: str = ""                    # before each tensor name
    prompts: tuple = (5, 40, 200)
    bias_scale: float = 0.1             # of e_score_correction_bias
    obey_interleave: bool = False       # rope_interleave and indexer_rope_interleave act (transformers ignores them)


# ---------------------------------------------------------------------------------------------------------------------
# Weights


def draw(name, shape, generator, variant):
    """A random tensor whose scale keeps activations of order 1 and the choices of router and indexer distinct."""
    noise = torch.randn(shape, generator=generator)
    if name.endswith("e_score_correction_bias"):
        return variant.bias_scale * noise
    if name.endswith("norm.weight"):
        return 1.0 + 0.25 * noise
    if name.endswith(".bias"):
        return 0.2 * noise
    if name.endswith("embed_tokens.weight") and not variant.config.get("tie_word_embeddings"):
        return 0.5 * noise
    gain = 1.0
    if name.endswith((".mlp.gate.weight", "lm_head.weight")):
        gain = 2.0
    elif re.search(r"\.(q_proj|q_b_proj|k_proj)\.weight$", name):
        gain = 1.5
    return gain * noise / shape[-1] ** 0.5


def expert_shapes(name, shape):
    """Splits a fused expert tensor of transformers into the per-expert names and shapes of published checkpoints."""
    stem, last = name.rsplit(".", 1)
    num_experts, rows, columns = shape
    for expert in range(num_experts):
        if last == "gate_up_proj":
            yield f"{stem}.{expert}.gate_proj.weight", (rows // 2, columns)
            yield f"{stem}.{expert}.up_proj.weight", (rows // 2, columns)
        else:
            yield f"{stem}.{expert}.down_proj.weight", (rows, columns)


def published_shapes(model):
    """{name: shape} of the model's tensors as a published checkpoint names them."""
    shapes = {}
    for name, tensor in model.state_dict().items():
        if (name == "lm_head.weight" and model.config.tie_word_embeddings) or tensor.numel() == 0:
            continue
        if name.endswith((".experts.gate_up_proj", ".experts.down_proj")):
            shapes.update(expert_shapes(name, tensor.shape))
        else:
            shapes[name] = tuple(tensor.shape)
    return shapes


def fuse_experts(weights):
    """Joins per-expert tensors into STEM.gate_up_proj [E, 2I, H] and STEM.down_proj [E, H, I]; keeps the rest."""
    fused = {name: t for name, t in weights.items() if ".mlp.experts." not in name}
    for name in weights:
        if not name.endswith(".mlp.experts.0.down_proj.weight"):
            continue
        stem = name.removesuffix(".0.down_proj.weight")
        num_experts = sum(1 for other in weights if re.fullmatch(re.escape(stem) + r"\.\d+\.down_proj\.weight", other))
        gate, up, down = ([weights[f"{stem}.{e}.{part}_proj.weight"] for e in range(num_experts)]
                          for part in ("gate", "up", "down"))
        fused[f"{stem}.gate_up_proj"] = torch.stack([torch.cat(pair) for pair in zip(gate, up)])
        fused[f"{stem}.down_proj"] = torch.stack(down)
    return fused


def unused_shapes(variant, shapes, config):
    """Shapes of tensors that a reader has to skip: those of an MTP layer and of indexers in layers without one."""
    extra = {}
    last = f"model.layers.{config.num_hidden_layers - 1}."
    if variant.mtp_layer:
        mtp = f"model.layers.{config.num_hidden_layers}."
        hidden = config.hidden_size
        extra.update({mtp + n.removeprefix(last): s for n, s in shapes.items() if n.startswith(last)})
        extra.update({mtp + "eh_proj.weight": (hidden, 2 * hidden), mtp + "enorm.weight": (hidden,),
                      mtp + "hnorm.weight": (hidden,), mtp + "shared_head.norm.weight": (hidden,)})
    if variant.spare_indexers:
        indexer = {n.removeprefix("model.layers.0."): s for n, s in shapes.items()
                   if n.startswith("model.layers.0.self_attn.indexer.")}
        for layer, kind in enumerate(config.indexer_types):
            if kind == "shared":
                extra.update({f"model.layers.{layer}.{n}": s for n, s in indexer.items()})
    return extra


# ---------------------------------------------------------------------------------------------------------------------
# NVFP4

E2M1 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
E2M1_MIDPOINTS = (E2M1[1:] + E2M1[:-1]) / 2


def e2m1_codes(x):
    """Nearest E2M1 code of each value, ties to the even code, saturating. Bit 3 is the sign."""
    below = torch.bucketize(x.abs(), E2M1_MIDPOINTS)                # a tie stays below its midpoint
    tie = (below < 7) & (x.abs() == E2M1_MIDPOINTS[below.clamp(max=6)])
    code = torch.where(tie & (below % 2 == 1), below + 1, below)
    return (code + 8 * (x < 0)).to(torch.uint8)


def quantize_nvfp4(weight, amax):
    """NVFP4 tensors of weight [O, K] and the values they stand for.

    Returns packed codes U8 [O, K/2] (low nibble = even column), block scales E4M3 [O, K/16], the float32 tensor scale
    amax / 2688, and the dequantized weight [O, K] float32.
    """
    rows, columns = weight.shape
    tensor_scale = (amax / 2688.0).to(torch.float32)
    blocks = weight.view(rows, columns // 16, 16)
    raw = blocks.abs().amax(-1) / (6.0 * tensor_scale)
    raw = torch.where(raw == 0, torch.ones_like(raw), raw)
    block_scale = raw.clamp(2.0 ** -9, 448.0).to(torch.float8_e4m3fn)
    step = (block_scale.float() * tensor_scale).unsqueeze(-1)
    codes = e2m1_codes(blocks / step)
    sign = 1.0 - 2.0 * (codes >= 8)
    dequantized = (sign * E2M1[(codes & 7).long()] * block_scale.float().unsqueeze(-1)) * tensor_scale
    codes = codes.view(rows, columns)
    packed = codes[:, 0::2] | (codes[:, 1::2] << 4)
    return packed, block_scale, tensor_scale, dequantized.view(rows, columns)


def shared_scale_group(module):
    """Modules that the exporter gives one tensor scale have the same group name."""
    return re.sub(r"\.(gate|up)_proj$", ".gate_up", re.sub(r"\.[qkv]_proj$", ".qkv", module))


def store_nvfp4(weights, stored, spec, generator):
    """Replaces the chosen weights by what NVFP4 keeps of them: in `stored` packed, in `weights` dequantized."""
    modules = [n.removesuffix(".weight") for n in weights if n.endswith(".weight")]
    modules = [m for m in modules if any(fnmatch.fnmatchcase(m, pattern) for pattern in spec.modules)]
    group_of = shared_scale_group if spec.shared_amax else (lambda module: module)
    amax = {}
    for module in modules:
        weights[module + ".weight"][0, :16] = 0.0     # a block of zeros has scale 1
        group = group_of(module)
        amax[group] = torch.maximum(amax.get(group, torch.tensor(0.0)), weights[module + ".weight"].abs().max())
    for module in modules:
        packed, block_scale, tensor_scale, value = quantize_nvfp4(weights[module + ".weight"], amax[group_of(module)])
        weights[module + ".weight"] = value
        stored[module + ".weight"] = packed
        stored[module + ".weight_scale"] = block_scale
        stored[module + ".weight_scale_2"] = tensor_scale.reshape(spec.scalar_shape)
        if spec.input_scale:
            scale = (3.0 + torch.rand((), generator=generator)) / 2688.0
            stored[module + ".input_scale"] = scale.reshape(spec.scalar_shape)


# ---------------------------------------------------------------------------------------------------------------------
# The reference


def stable_topk(self, k, dim=-1, largest=True, sorted=True):
    """torch.Tensor.topk with a defined order of equal values: the lower index first."""
    values, indices = torch.sort(self, dim=dim, descending=largest, stable=True)
    return torch.return_types.topk((values.narrow(dim, 0, k), indices.narrow(dim, 0, k)))


def rotate_half_split(q, k, cos, sin, position_ids=None, unsqueeze_dim=1):
    """Rope with pairs (i, i + d/2), in place of transformers' apply_rotary_pos_emb_interleave."""
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    half = q.shape[-1] // 2

    def turn(x):
        return x * cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sin

    return turn(q), turn(k)


class ObeyInterleaveFlags:
    """Makes glm_moe_dsa obey rope_interleave and indexer_rope_interleave while the context lasts."""

    def __init__(self, config):
        self.config = config
        self.module = transformers.models.glm_moe_dsa.modeling_glm_moe_dsa

    def __enter__(self):
        self.original = self.module.apply_rotary_pos_emb_interleave

        def choose(q, k, cos, sin, position_ids=None, unsqueeze_dim=1):
            in_indexer = unsqueeze_dim == 2    # only the indexer keeps its heads in dimension 2
            flag = self.config["indexer_rope_interleave" if in_indexer else "rope_interleave"]
            rotate = self.original if flag else rotate_half_split
            return rotate(q, k, cos, sin, unsqueeze_dim=unsqueeze_dim)

        self.module.apply_rotary_pos_emb_interleave = choose

    def __exit__(self, *_):
        self.module.apply_rotary_pos_emb_interleave = self.original


@torch.no_grad()
def logits_of(model, ids):
    """[T, V] without a KV cache, so that each step is the plain forward pass over all ids."""
    return model(torch.tensor([ids]), use_cache=False).logits[0]


def answer(model, ids):
    """One entry of golden.json and the logits [T, V] of the prompt."""
    logits = first = logits_of(model, ids)
    greedy_ids, margins = [], []
    while True:
        best = torch.topk(logits[-1], 2).values
        margins.append(round(float(best[0] - best[1]), 6))
        greedy_ids.append(int(logits[-1].argmax()))
        if len(greedy_ids) == GREEDY_STEPS:
            break
        logits = logits_of(model, ids + greedy_ids)
    rows = "all" if len(ids) <= LONG_PROMPT else f"last {LAST_ROWS}"
    entry = {"ids": ids, "greedy_ids": greedy_ids, "last_margin": margins[0], "logits_rows": rows,
             "greedy_margins": margins}
    return entry, first


def worst_nmse(got, want):
    return float(((got.double() - want) ** 2).sum(-1).div((want ** 2).sum(-1)).max())


def goldens(model, prompts, dtype_name):
    """(golden.json contents, golden.safetensors tensors, whether the draw is fit to compare with)."""
    entries, tensors, clear = [], {}, True
    for j, ids in enumerate(prompts):
        entry, logits = answer(model, ids)
        entries.append(entry)
        tensors[f"logits_all.{j}"] = logits[-LAST_ROWS:].clone() if len(ids) > LONG_PROMPT else logits
        clear &= min(entry["greedy_margins"]) >= MIN_MARGIN and model.config.eos_token_id not in entry["greedy_ids"]
    if clear:
        double = copy.deepcopy(model).double()
        for j, entry in enumerate(entries):
            whole = logits_of(model, entry["ids"] + entry["greedy_ids"])
            clear &= worst_nmse(whole, logits_of(double, entry["ids"] + entry["greedy_ids"])) <= MAX_NMSE
    note = (f"transformers {transformers.__version__} torch {torch.__version__} float32 eager CPU, index top-k by "
            f"stable sort (equal scores: lower key index first); weights rounded to {dtype_name} first")
    return {"reference": note, "prompts": entries}, tensors, clear


# ---------------------------------------------------------------------------------------------------------------------
# Writing a variant


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1) + "\n")


def quantization_json(spec, config):
    """The two ways in which ModelOpt checkpoints declare NVFP4: (config.json, hf_quant_config.json or None)."""
    producer = {"name": "modelopt", "version": "0.42.0"}
    if spec.config_file == "hf_quant_config.json":
        return config, {"producer": producer, "quantization": {
            "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16, "exclude_modules": spec.exclude}}
    arguments = {"dynamic": False, "num_bits": 4, "type": "float", "group_size": 16}
    return config | {"quantization_config": {
        "config_groups": {"group_0": {"input_activations": arguments, "weights": arguments, "targets": ["Linear"]}},
        "ignore": spec.exclude, "quant_algo": "NVFP4", "producer": producer, "quant_method": "modelopt",
        "kv_cache_scheme": {"dynamic": False, "num_bits": 8, "type": "float"}}}, None


def write_tensors(folder, stored, shards):
    """One model.safetensors, or several shards with an index; tensors are dealt out in turn, so layers span shards."""
    stored = {name: t.contiguous() for name, t in stored.items()}
    if shards == 1:
        save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
        return
    files = [f"model-{i + 1:05}-of-{shards:05}.safetensors" for i in range(shards)]
    weight_map = {name: files[i % shards] for i, name in enumerate(sorted(stored))}
    for file in files:
        save_file({n: t for n, t in stored.items() if weight_map[n] == file}, folder / file, metadata={"format": "pt"})
    total = sum(t.numel() * t.element_size() for t in stored.values())
    write_json(folder / "model.safetensors.index.json", {"metadata": {"total_size": total}, "weight_map": weight_map})


def draw_weights(variant, shapes, generator):
    """(float32 values the model has, tensors as stored): rounded to the stored dtype, or to NVFP4."""
    weights, stored = {}, {}
    for name, shape in sorted(shapes.items()):
        dtype = torch.float32 if name.endswith("e_score_correction_bias") else variant.dtype
        stored[name] = draw(name, shape, generator, variant).to(dtype)
        weights[name] = stored[name].float()
    if variant.nvfp4:
        store_nvfp4(weights, stored, variant.nvfp4, generator)
    return weights, stored


def check_reload(folder, prompt, want):
    """The written files must load in transformers as they are and answer the same."""
    model, info = transformers.AutoModelForCausalLM.from_pretrained(folder, **EAGER, output_loading_info=True)
    missing = [name for name in info["missing_keys"] if model.get_parameter(name).numel() > 0]
    if missing:
        raise RuntimeError(f"{folder}: transformers misses {missing}")
    error = worst_nmse(logits_of(model, prompt), want.double())
    if error > 1e-12:
        raise RuntimeError(f"{folder}: reloaded logits differ, NMSE {error}")


def set_weights(model, weights):
    """Loads float32 tensors with published names. A tied lm_head and tensors without elements may be absent."""
    missing, unexpected = model.load_state_dict(fuse_experts(weights), strict=False)
    missing = [name for name in missing if name != "lm_head.weight" and model.get_parameter(name).numel() > 0]
    if missing or unexpected:
        raise RuntimeError(f"missing {missing}, unexpected {unexpected}")


def try_seed(variant, model, shapes, generator):
    """One draw: (tensors as stored, golden.json contents, golden.safetensors tensors, clear of ties)."""
    vocab = model.config.vocab_size
    prompts = [torch.randint(3, vocab, (length,), generator=generator).tolist() for length in variant.prompts]
    weights, stored = draw_weights(variant, shapes, generator)
    set_weights(model, weights)
    kind = ("nvfp4 and " if variant.nvfp4 else "") + str(variant.dtype).removeprefix("torch.")
    if not variant.obey_interleave:
        return stored, *goldens(model, prompts, kind)
    with ObeyInterleaveFlags(variant.config):
        golden, tensors, clear = goldens(model, prompts, kind)
    golden["reference"] += "; patched: rope_interleave and indexer_rope_interleave act"
    return stored, golden, tensors, clear


def write_variant(variant, folder, stored, golden, tensors):
    if variant.fused_experts:
        stored = fuse_experts(stored)
    write_tensors(folder, {variant.prefix + name: tensor for name, tensor in stored.items()}, variant.shards)
    if variant.nvfp4:
        config_json, quant_json = quantization_json(variant.nvfp4, variant.config)
        write_json(folder / "config.json", config_json)
        if quant_json:
            write_json(folder / "hf_quant_config.json", quant_json)
    (folder / "golden").mkdir()
    (folder / "golden" / "golden.json").write_text(json.dumps(golden) + "\n")
    save_file(tensors, folder / "golden" / "golden.safetensors")


def make(variant, out):
    """Writes one variant under out/NAME, from the first seed whose goldens stand clear of ties."""
    folder = out / variant.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_json(folder / "config.json", variant.config)
    config = transformers.AutoConfig.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_config(config, **EAGER).eval()
    shapes = published_shapes(model)

    for seed in range(1, MAX_SEEDS + 1):
        generator = torch.Generator().manual_seed(1000 * seed + sum(map(ord, variant.name)))
        stored, golden, tensors, clear = try_seed(variant, model, shapes, generator)
        if clear:
            break
    else:
        raise RuntimeError(f"{variant.name}: no seed gives goldens that stand clear of ties")

    extra = unused_shapes(variant, shapes, config)
    stored |= {name: draw(name, shape, generator, variant).to(variant.dtype) for name, shape in extra.items()}
    write_variant(variant, folder, stored, golden, tensors)
    if not (variant.nvfp4 or variant.prefix or variant.obey_interleave):    # forms that transformers cannot read itself
        check_reload(folder, golden["prompts"][0]["ids"], tensors["logits_all.0"])
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
    margin = min(min(p["greedy_margins"]) for p in golden["prompts"])
    print(f"{variant.name:32} seed {seed:2}  {size / 1024:7.1f} KiB  least margin {margin:.4f}", flush=True)


# ---------------------------------------------------------------------------------------------------------------------
# The variants


def without(config, *keys):
    return {key: value for key, value in config.items() if key not in keys}


DEFAULT_ROPE = {"rope_theta": 1000000.0, "rope_type": "default"}


def qwen(**changes):
    return {
        "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "dtype": "bfloat16", "vocab_size": 256,
        "hidden_size": 96, "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 32,
        "intermediate_size": 128, "moe_intermediate_size": 48, "num_experts": 12, "num_experts_per_tok": 3,
        "norm_topk_prob": True, "decoder_sparse_step": 1, "mlp_only_layers": [], "hidden_act": "silu",
        "rms_norm_eps": 1e-6, "rope_parameters": DEFAULT_ROPE.copy(),
        "max_position_embeddings": 1024, "attention_bias": False, "sliding_window": None, "use_sliding_window": False,
        "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "use_cache": True,
    } | changes


def glm(**changes):
    return {
        "architectures": ["GlmMoeDsaForCausalLM"], "model_type": "glm_moe_dsa", "dtype": "bfloat16", "vocab_size": 256,
        "hidden_size": 96, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 4,
        "q_lora_rank": 48, "kv_lora_rank": 32, "qk_nope_head_dim": 24, "qk_rope_head_dim": 16, "qk_head_dim": 40,
        "v_head_dim": 32, "intermediate_size": 160, "moe_intermediate_size": 48, "n_routed_experts": 16,
        "num_experts_per_tok": 4, "n_shared_experts": 1, "n_group": 1, "topk_group": 1, "norm_topk_prob": True,
        "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "topk_method": "noaux_tc", "first_k_dense_replace": 1,
        "index_head_dim": 32, "index_n_heads": 3, "index_topk": 24, "hidden_act": "silu", "rms_norm_eps": 1e-5,
        "rope_parameters": DEFAULT_ROPE.copy(), "rope_interleave": True,
        "indexer_rope_interleave": True, "max_position_embeddings": 1024, "attention_bias": False,
        "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "use_cache": True,
    } | changes


def yarn(theta=1000000.0, factor=4.0, original=32, **more):
    return {"rope_type": "yarn", "rope_theta": theta, "factor": factor,
            "original_max_position_embeddings": original} | more


EXPERTS = "model.layers.*.mlp.experts.*"
SHARED = "model.layers.*.mlp.shared_experts.*"
DENSE = "model.layers.*.mlp.*_proj"
ATTENTION = "model.layers.*.self_attn.*_proj"
O_PROJ = "model.layers.*.self_attn.o_proj"
Q_B_PROJ = "model.layers.*.self_attn.q_b_proj"
PLAIN_MLA = [f"model.layers.*.self_attn.{part}" for part in ("indexer*", "kv_a_proj_with_mqa", "kv_b_proj", "q_a_proj")]
HALF_SPLIT = {"rope_interleave": False, "indexer_rope_interleave": False}


def large_qwen():
    no_gates = ["lm_head"] + [f"model.layers.{layer}.mlp.gate" for layer in range(3)]
    return [
        Variant("qwen-no-norm-topk", qwen(norm_topk_prob=False)),
        Variant("qwen-yarn", qwen(rope_parameters=yarn())),
        Variant("qwen-yarn-attention-factor", qwen(rope_parameters=yarn(
            theta=50000.0, attention_factor=0.75, beta_fast=8.0, beta_slow=2.0))),
        Variant("qwen-yarn-no-truncate", qwen(rope_parameters=yarn(theta=10000.0, factor=8.0, truncate=False))),
        Variant("qwen-mixed-dense", qwen(num_hidden_layers=5, mlp_only_layers=[0, 2], decoder_sparse_step=2)),
        Variant("qwen-dense-and-sparse-step", qwen(num_hidden_layers=5, mlp_only_layers=[3], decoder_sparse_step=2)),
        Variant("qwen-attention-bias", qwen(attention_bias=True)),
        Variant("qwen-tied", without(qwen(tie_word_embeddings=True), "use_sliding_window", "sliding_window")),
        Variant("qwen-no-head-dim", without(
            qwen(hidden_size=120, num_attention_heads=5, num_key_value_heads=5), "head_dim")),
        Variant("qwen-one-kv-head", qwen(hidden_size=64, num_attention_heads=3, num_key_value_heads=1, head_dim=40)),
        Variant("qwen-old-config", without(qwen(
            torch_dtype="bfloat16", max_window_layers=2, rope_theta=500000.0, rope_scaling={
                "type": "yarn", "factor": 2.0, "original_max_position_embeddings": 64}), "rope_parameters", "dtype")),
        Variant("qwen-old-config-no-scaling", without(qwen(
            torch_dtype="bfloat16", rope_theta=10000000.0, rope_scaling=None), "rope_parameters", "dtype")),
        Variant("qwen-class-defaults", without(
            qwen(num_local_experts=12), "num_experts", "rope_parameters", "norm_topk_prob", "rms_norm_eps",
            "hidden_act", "attention_bias", "decoder_sparse_step", "mlp_only_layers", "tie_word_embeddings",
            "sliding_window")),
        Variant("qwen-sliding-window", qwen(use_sliding_window=True, sliding_window=16, max_window_layers=2)),
        Variant("qwen-rope-linear", qwen(rope_parameters={
            "rope_type": "linear", "rope_theta": 10000.0, "factor": 3.0})),
        Variant("qwen-rope-llama3", qwen(rope_parameters={
            "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 64})),
        Variant("qwen-rope-dynamic", qwen(max_position_embeddings=64, rope_parameters={
            "rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0})),
        Variant("qwen-300-experts", qwen(
            hidden_size=64, mlp_only_layers=[0], num_attention_heads=4, head_dim=16, moe_intermediate_size=8,
            num_experts=300, num_experts_per_tok=8)),
        Variant("qwen-odd-widths", qwen(
            hidden_size=104, moe_intermediate_size=40, intermediate_size=72, head_dim=22, mlp_only_layers=[1],
            rms_norm_eps=1e-5, vocab_size=251)),
        Variant("qwen-large-eps", qwen(rms_norm_eps=0.05)),
        Variant("qwen-float32", qwen(dtype="float32"), dtype=torch.float32),
        Variant("qwen-float16", qwen(dtype="float16"), dtype=torch.float16),
        Variant("qwen-sharded", qwen(mlp_only_layers=[1]), shards=3),
        Variant("qwen-fused-experts", qwen(), fused_experts=True),
        Variant("qwen-one-expert-per-token", qwen(num_experts_per_tok=1, num_experts=5, num_hidden_layers=1)),
        Variant("qwen-all-experts", qwen(num_experts_per_tok=6, num_experts=6, moe_intermediate_size=24)),
        Variant("qwen-nvfp4-attention", qwen(
            hidden_size=80, head_dim=40, num_attention_heads=4, moe_intermediate_size=112, num_experts=9),
            nvfp4=Nvfp4([EXPERTS, ATTENTION], no_gates, "hf_quant_config.json")),
        Variant("qwen-nvfp4-separate-scales", qwen(mlp_only_layers=[0]), nvfp4=Nvfp4(
            [EXPERTS], ["lm_head", "model.layers.*.self_attn*", "model.layers.*.mlp.gate", "model.layers.0.*"],
            "config.json", shared_amax=False, scalar_shape=(1,), input_scale=False)),
    ]


def large_glm():
    attention = "model.layers.*.self_attn*"
    only_experts = ["lm_head", attention, "model.layers.*.mlp.shared_experts*", "model.layers.0*", "model.layers.4*"]
    return [
        Variant("glm-groups", glm(n_group=4, topk_group=2)),
        Variant("glm-two-shared-no-dense", glm(n_shared_experts=2, first_k_dense_replace=0)),
        Variant("glm-two-dense", glm(first_k_dense_replace=2, n_shared_experts=2)),
        Variant("glm-no-shared", glm(n_shared_experts=0)),
        Variant("glm-mlp-layer-types", glm(mlp_layer_types=["sparse", "dense", "sparse", "dense"])),
        Variant("glm-half-split-ignored", glm(**HALF_SPLIT)),
        Variant("glm-half-split-obeyed", glm(**HALF_SPLIT), obey_interleave=True),
        Variant("glm-half-split-indexer-obeyed", glm(indexer_rope_interleave=False), obey_interleave=True),
        Variant("glm-no-interleave-keys", without(glm(), "rope_interleave", "indexer_rope_interleave")),
        Variant("glm-large-eps", glm(rms_norm_eps=0.05)),
        Variant("glm-no-norm-topk", glm(norm_topk_prob=False, routed_scaling_factor=1.0)),
        Variant("glm-yarn", glm(rope_parameters=yarn())),
        Variant("glm-yarn-mscale", glm(rope_parameters=yarn(
            theta=10000.0, factor=8.0, mscale=0.7, mscale_all_dim=1.2, beta_fast=32, beta_slow=1))),
        Variant("glm-rope-linear", glm(rope_parameters={
            "rope_type": "linear", "rope_theta": 10000.0, "factor": 3.0})),
        Variant("glm-one-index-head", glm(index_topk=7, index_n_heads=1, index_head_dim=64)),
        Variant("glm-never-sparse", glm(index_topk=4096)),
        Variant("glm-index-freq", glm(num_hidden_layers=5, index_topk_freq=3, index_skip_topk_offset=1)),
        Variant("glm-index-freq-default-offset", glm(num_hidden_layers=5, index_topk_freq=2)),
        Variant("glm-index-pattern", glm(
            num_hidden_layers=5, n_routed_experts=12, index_topk_pattern="FSSFS", num_nextn_predict_layers=1),
            spare_indexers=True, mtp_layer=True),
        Variant("glm-attention-bias", glm(attention_bias=True)),
        Variant("glm-tied", glm(tie_word_embeddings=True)),
        Variant("glm-wide-rope", glm(qk_rope_head_dim=32, v_head_dim=48, qk_nope_head_dim=16, qk_head_dim=48)),
        Variant("glm-three-heads", glm(
            num_attention_heads=3, num_key_value_heads=3, q_lora_rank=40, kv_lora_rank=24, hidden_size=72,
            index_n_heads=5, index_head_dim=16, index_topk=1)),
        Variant("glm-correction-bias", glm(n_group=2, topk_group=1), bias_scale=0.6),
        Variant("glm-class-defaults", without(
            glm(), "rope_parameters", "n_group", "topk_group", "n_shared_experts", "norm_topk_prob", "qk_head_dim",
            "routed_scaling_factor", "scoring_func", "topk_method", "rms_norm_eps", "rope_interleave",
            "attention_bias", "tie_word_embeddings")),
        Variant("glm-300-experts", glm(
            hidden_size=64, num_hidden_layers=3, n_routed_experts=300, num_experts_per_tok=8, moe_intermediate_size=8)),
        Variant("glm-float32-sharded-fused", glm(dtype="float32", n_routed_experts=8), dtype=torch.float32, shards=3,
                fused_experts=True),
        Variant("glm-prefix", glm(), prefix="language_model."),
        Variant("glm-nvfp4-experts", glm(num_nextn_predict_layers=1), mtp_layer=True,
                nvfp4=Nvfp4([EXPERTS], only_experts, "config.json")),
        Variant("glm-nvfp4-mlps", glm(),
                nvfp4=Nvfp4([EXPERTS, SHARED, DENSE], ["lm_head", attention], "hf_quant_config.json")),
        Variant("glm-nvfp4-attention", glm(), nvfp4=Nvfp4(
            [EXPERTS, SHARED, DENSE, O_PROJ, Q_B_PROJ], ["lm_head"] + PLAIN_MLA, "hf_quant_config.json",
            shared_amax=False, scalar_shape=(1,))),
    ]


def large_variants():
    return large_qwen() + large_glm()


def small_qwen(**changes):
    return qwen(vocab_size=48, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, head_dim=16,
                intermediate_size=32, moe_intermediate_size=12, num_experts=4, num_experts_per_tok=2,
                max_position_embeddings=256) | changes


def small_glm(**changes):
    return glm(vocab_size=48, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2,
               q_lora_rank=16, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=8, qk_head_dim=16, v_head_dim=8,
               intermediate_size=32, moe_intermediate_size=8, n_routed_experts=6, num_experts_per_tok=2,
               index_head_dim=16, index_n_heads=2, index_topk=9, max_position_embeddings=256) | changes


def small_variants():
    """Each joins many settings: an error in any of them changes the logits."""
    short = {"prompts": (5, 40)}
    return [
        Variant("qwen-yarn-bias", without(small_qwen(
            hidden_size=32, num_key_value_heads=2, num_experts=3, attention_bias=True, norm_topk_prob=False,
            mlp_only_layers=[0], torch_dtype="bfloat16", rope_theta=50000.0, rope_scaling={
                "type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "attention_factor": 0.75,
                "beta_fast": 2.0, "beta_slow": 0.1}), "head_dim", "rope_parameters", "dtype"), **short),
        Variant("qwen-sliding-tied", small_qwen(
            decoder_sparse_step=2, use_sliding_window=True, sliding_window=11, tie_word_embeddings=True,
            num_attention_heads=3, num_key_value_heads=1, rms_norm_eps=0.05, moe_intermediate_size=20, num_experts=3,
            dtype="float16"), dtype=torch.float16, shards=2, **short),
        Variant("qwen-llama3-fused", small_qwen(hidden_size=20, mlp_only_layers=[1], rope_parameters={
            "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 32}), fused_experts=True, **short),
        Variant("qwen-nvfp4", small_qwen(hidden_size=32, moe_intermediate_size=16, num_key_value_heads=1), nvfp4=Nvfp4(
            [EXPERTS, ATTENTION], ["lm_head", "model.layers.*.mlp.gate"], "hf_quant_config.json"), **short),
        Variant("glm-groups-shared-index", small_glm(
            hidden_size=16, num_hidden_layers=3, first_k_dense_replace=2, n_group=3, topk_group=2, n_shared_experts=2,
            num_experts_per_tok=3, index_topk_pattern="FSF", num_nextn_predict_layers=1),
            spare_indexers=True, mtp_layer=True, bias_scale=0.4, **short),
        Variant("glm-yarn-bias", small_glm(
            first_k_dense_replace=0, norm_topk_prob=False, routed_scaling_factor=1.5, rms_norm_eps=0.05,
            attention_bias=True, tie_word_embeddings=True, rope_parameters=yarn(
                theta=10000.0, factor=8.0, original=16, mscale=0.7, mscale_all_dim=1.2)), **short),
        Variant("glm-half-split", small_glm(**HALF_SPLIT), obey_interleave=True, **short),
        Variant("glm-nvfp4", small_glm(hidden_size=32, moe_intermediate_size=16, intermediate_size=48), nvfp4=Nvfp4(
            [EXPERTS, SHARED, DENSE, O_PROJ, Q_B_PROJ], ["lm_head"] + PLAIN_MLA,
            "config.json", shared_amax=False, scalar_shape=(1,), input_scale=False), **short),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, help="folder that gets one folder per variant")
    parser.add_argument("--large", action="store_true", help="the larger set")
    parser.add_argument("--only", metavar="NAME", help="one variant")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.Tensor.topk = stable_topk
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    chosen = [v for v in (large_variants() if arguments.large else small_variants())
              if arguments.only in (None, v.name)]
    if not chosen:
        parser.error(f"no variant is named {arguments.only}")
    for variant in chosen:
        make(variant, arguments.out)


if __name__ == "__main__":
    main()
