"""Makes two tiny language models on the spot, without a download: `talker` and `caller`.

Usage: tiny_models.py FOLDER

`talker` has random weights, always the same, and no end: it says words of several scripts until its tokens are used
up, and other ones after another prompt. `caller` is trained for a few seconds, until it knows one conversation by
heart: it says something, calls the tool `clock` twice, and then says what time it is.
"""

import json
import pathlib
import sys

import tokenizers
import torch
import transformers

WORDS = (
    "a the of and in on it is was that with for sea ship harbour bottle letter green window sill wind rain lamp map"
    " old new long far near here there then when while under over never always two three seven hundred salt tide star"
    " compass anchor rope sail crew captain gull fog night morning light shadow stone sand glass cork paper ink word"
    " über Größe Straße naïve façade déjà señor møte fjord žluťoučký łódź тишина чайки море письмо θάλασσα άνεμος"
    " 海 船 手紙 瓶 霧 港 바다 편지 항구 🌊 🚢 🧭 👩🏽‍🚀 🇳🇴 🇯🇵 — … “quoted” 21 °C 5.5 m/s"
).split(" ")
SPECIALS = ["<unk>", "<|im_start|>", "<|im_end|>", "<|endoftext|>"]
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if message.content is string %}{{ message.content }}"
    "{% elif message.content %}{% for part in message.content %}{{ part.text }}{% endfor %}{% endif %}"
    "{% for call in message.tool_calls or [] %}\n<tool_call>{{ call.function.name }}</tool_call>{% endfor %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CALLS = "".join(
    "\n<tool_call>\n" + json.dumps({"name": "clock", "arguments": {"zone": zone}}) + "\n</tool_call>"
    for zone in ("UTC", "Europe/Oslo")
)


def make_tokenizer(lines):
    """Words with the blank before them, learnt from the lines, and single bytes for what was never seen."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token=None))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=900,
        special_tokens=SPECIALS,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
        min_frequency=1,
    )
    tokenizer.train_from_iterator(lines, trainer)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>", unk_token="<unk>"
    )
    fast.chat_template = TEMPLATE
    return fast


def make_model(tokenizer, layers):
    """A Qwen 2 of some ten thousand weights; the server knows how that family writes its calls."""
    torch.manual_seed(7)
    config = transformers.Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        tie_word_embeddings=False,
    )
    return transformers.Qwen2ForCausalLM(config)


def save(model, tokenizer, folder, **generation):
    """Writes the files that the server loads."""
    # Greedy, so that the same request has the same answer.
    model.generation_config = transformers.GenerationConfig(
        do_sample=False, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, **generation
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def conversation():
    """The prompts and answers that `caller` learns."""
    user = {"role": "user", "content": "What time is it?"}
    calls = [{"function": {"name": "clock", "arguments": {}}}] * 2
    outputs = [{"role": "tool", "content": "12:00"}, {"role": "tool", "content": "13:00"}]
    # How the server puts the first answer before the calls is its own affair, so both ways are learnt.
    rounds = [[user, {"role": "assistant", "content": text, "tool_calls": calls}, *outputs] for text in ("Let me look.", "")]
    return [([user], "Let me look." + CALLS)] + [
        (messages, "It is 12:00 in UTC and 13:00 in Oslo, ⌚ så klokka er ett.") for messages in rounds
    ]


def train(model, tokenizer):
    """Trains until every answer comes back whole; prints in how many steps."""
    samples = []
    for messages, answer in conversation():
        prompt = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        before = tokenizer(prompt, add_special_tokens=False)["input_ids"]
        after = tokenizer(answer + "<|im_end|>", add_special_tokens=False)["input_ids"]
        samples.append((torch.tensor([before + after]), torch.tensor([[-100] * len(before) + after])))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model.train()
    for step in range(600):
        losses = [model(input_ids=inputs, labels=labels).loss for inputs, labels in samples]
        optimizer.zero_grad()
        sum(losses).backward()
        optimizer.step()
        if max(loss.item() for loss in losses) < 0.005:
            print(f"caller knows its part after {step + 1} steps")
            model.eval()
            return
    sys.exit("caller did not learn its part")


def main():
    """Reads the command line."""
    folder = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    lines = [" " + " ".join(WORDS)] * 4
    tokenizer = make_tokenizer(lines + [json.dumps(conversation(), ensure_ascii=False)] * 2)
    talker = make_model(tokenizer, layers=2)
    save(talker, tokenizer, folder / "talker", no_repeat_ngram_size=2, max_new_tokens=1024)
    caller = make_model(tokenizer, layers=2)
    train(caller, tokenizer)
    save(caller, tokenizer, folder / "caller", max_new_tokens=1024)


if __name__ == "__main__":
    main()
