"""Makes a language model for llama.cpp on the spot, without a download: it recites a text, whatever it is asked.

Usage: reciting_model.py TEXT_FILE MODEL_FILE

The text is cut into pieces that differ, each of them a token. The layers add nothing to a token's embedding, and the
output's row of each piece is the embedding of the piece before it, so that the most probable token is always the next
one. Some letters are single bytes, as with any model that has not learnt them. The first piece follows the token with
which the chat template ends, and the end of the text is followed by the token that ends an answer.
"""

import pathlib
import sys

import gguf
import numpy

START, END = "<|answer|>", "<|end|>"
TEMPLATE = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}" + START
BYTE = "<0x%02X>"
# Wide enough that two embeddings are nearly at right angles; several layers, so that an answer takes a while.
WIDTH, HEADS, LAYERS = 256, 4, 24
CONTEXT = 2048


def pieces_of(text):
    """Cuts the text into tokens, none of which comes twice."""
    pieces, used, at = [], set(), 0
    while at < len(text):
        letter = [BYTE % byte for byte in text[at].encode("utf-8")]
        if len(letter) > 1 and used.isdisjoint(letter) and len(set(letter)) == len(letter):
            new, length = letter, 1
        else:
            rest = len(text) - at
            length = next((size for size in range(1, rest) if text[at : at + size] not in used), rest)
            new = [text[at : at + length]]
        pieces += new
        used.update(new)
        at += length
    if len(set(pieces)) < len(pieces):
        sys.exit("the last piece of the text is in it before")
    return pieces


def write_tokens(writer, tokens):
    """Writes the vocabulary: a sentencepiece model that falls back to bytes."""
    kinds = {"<unk>": gguf.TokenType.UNKNOWN, START: gguf.TokenType.CONTROL, END: gguf.TokenType.CONTROL}
    kinds |= {BYTE % byte: gguf.TokenType.BYTE for byte in range(256)}
    writer.add_tokenizer_model("llama")
    writer.add_token_list([token.replace(" ", "▁").encode("utf-8") for token in tokens])
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([kinds.get(token, gguf.TokenType.NORMAL) for token in tokens])
    writer.add_unk_token_id(tokens.index("<unk>"))
    writer.add_bos_token_id(tokens.index(START))
    writer.add_eos_token_id(tokens.index(END))
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)


def write_weights(writer, tokens, chain):
    """Writes the weights: random embeddings, always the same, and layers of zeros."""
    embeddings = numpy.random.default_rng(7).standard_normal((len(tokens), WIDTH), dtype=numpy.float32)
    embeddings /= numpy.linalg.norm(embeddings, axis=1, keepdims=True)
    output = numpy.zeros_like(embeddings)
    indices = {token: index for index, token in enumerate(tokens)}
    for token, following in zip(chain, chain[1:]):
        output[indices[following]] = embeddings[indices[token]]
    ones = numpy.ones(WIDTH, dtype=numpy.float32)
    zeros = numpy.zeros((WIDTH, WIDTH), dtype=numpy.float32)
    writer.add_tensor("token_embd.weight", embeddings)
    writer.add_tensor("output_norm.weight", ones)
    writer.add_tensor("output.weight", output)
    for layer in range(LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", ones)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", zeros)


def main():
    """Reads the command line."""
    text_file, model_file = sys.argv[1:]
    pieces = pieces_of(pathlib.Path(text_file).read_text(encoding="utf-8"))
    tokens = ["<unk>", START, END] + [BYTE % byte for byte in range(256)]
    tokens += [piece for piece in pieces if piece not in tokens]
    writer = gguf.GGUFWriter(model_file, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    write_tokens(writer, tokens)
    write_weights(writer, tokens, [START, *pieces, END])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{len(pieces)} tokens for the text")


if __name__ == "__main__":
    main()
