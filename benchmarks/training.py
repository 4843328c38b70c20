"""Train a tiny random model for a few steps on exported rows: do TRL and datasets accept them?

    session-memory train export --out ./data
    python -m venv v && v/bin/pip install torch trl datasets
    v/bin/python benchmarks/training.py ./data [sft chat dpo]

Needs no network: the tokenizer is made from the rows, the model from a configuration, and the chat
template is one of those that TRL contains. The losses mean nothing. A random model guesses each
token, so the first one is about log(vocabulary), and that of DPO log(2).
"""

import os
import sys
import time
from pathlib import Path

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1")

import torch
import trl
from datasets import load_dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

STEPS, LENGTH, WORDS = 4, 4_096, 4_000
MARKS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"]


def tokenizer_of(data: Path) -> PreTrainedTokenizerFast:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=WORDS, special_tokens=MARKS, initial_alphabet=alphabet, show_progress=False
    )
    texts = (line for file in sorted(data.glob("*/train.jsonl")) for line in file.open())
    made.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    templates = Path(trl.__file__).parent / "chat_templates"
    tokenizer.chat_template = (templates / "qwen3.jinja").read_text()
    return tokenizer


def model_of(words: int) -> Qwen3ForCausalLM:
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "head_dim": 16}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    return Qwen3ForCausalLM(Qwen3Config(vocab_size=words, **sizes, **heads))


def trained(data: Path, kind: str, tokenizer: PreTrainedTokenizerFast) -> str:
    rows = load_dataset(str(data), kind)
    options = {
        "output_dir": str(data / "trained"), "max_steps": STEPS, "max_length": LENGTH,
        "per_device_train_batch_size": 1, "logging_steps": 1, "report_to": [], "use_cpu": True,
        "bf16": False, "gradient_checkpointing": False, "save_strategy": "no",
    }  # fmt: skip
    given = {
        "model": model_of(len(tokenizer)), "train_dataset": rows["train"],
        "eval_dataset": rows["validation"], "processing_class": tokenizer,
    }  # fmt: skip
    started = time.monotonic()
    if kind == "dpo":
        args = trl.DPOConfig(**options)
        trainer = trl.DPOTrainer(args=args, ref_model=model_of(len(tokenizer)), **given)
    else:
        trainer = trl.SFTTrainer(args=trl.SFTConfig(**options), **given)
    trainer.train()
    losses = [round(one["loss"], 3) for one in trainer.state.log_history if "loss" in one]
    checked = round(trainer.evaluate()["eval_loss"], 3)
    counts = {split: len(part) for split, part in rows.items()}
    seconds = time.monotonic() - started
    used = len(trainer.train_dataset)
    done = f"losses {losses}, validation {checked}, {seconds:.0f} s"
    return f"{kind:<5} {counts}, {used} used, {done}"


def main() -> int:
    data = Path(sys.argv[1]).resolve()
    tokenizer = tokenizer_of(data)
    print("\n".join(trained(data, kind, tokenizer) for kind in sys.argv[2:] or KINDS))
    return 0


KINDS = ("sft", "chat", "dpo")
if __name__ == "__main__":
    sys.exit(main())
