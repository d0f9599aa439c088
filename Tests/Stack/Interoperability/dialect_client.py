"""Runs a chat with thinking and a tool by another package, over Chat Completions or Messages, and prints its text.

Usage: dialect_client.py openai|anthropic|litellm-chat|litellm-messages BASE_URL ROUNDS

Every answer is streamed. Exit 1 unless the model thinks before each answer, calls the tool ROUNDS times with other
arguments each time, and then gives a text that is alike in pieces and whole.
"""

import json
import sys

MODEL = "scripted"
QUESTION = "Tell me about the bottle."
PARAMETERS = {"type": "object", "properties": {"number": {"type": "integer"}}}
CHAT_TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}
MESSAGES_TOOL = {"name": "get_weather", "input_schema": PARAMETERS}
# Messages then demands the thinking back, with its signature.
THINKING = {"type": "enabled", "budget_tokens": 1024}


class OpenAIClient:
    """Chat Completions by the openai package, which puts the answer together."""

    def __init__(self, base_url):
        import openai

        self.client = openai.OpenAI(base_url=base_url, api_key="sk-fake", max_retries=0, timeout=20)

    def answer(self, messages):
        """Returns the pieces of text, the thinking, and the message to send back."""
        pieces, thinking = [], []
        options = {"model": MODEL, "messages": messages, "tools": [CHAT_TOOL]}
        with self.client.chat.completions.stream(stream_options={"include_usage": True}, **options) as stream:
            for event in stream:
                if event.type == "content.delta":
                    pieces.append(event.delta)
                elif event.type == "chunk" and event.chunk.choices:
                    # No member of the package's own.
                    thinking.append(getattr(event.chunk.choices[0].delta, "reasoning_content", None) or "")
            completion = stream.get_final_completion()
        if not completion.usage.completion_tokens:
            sys.exit("no usage came")
        return pieces, "".join(thinking), completion.choices[0].message.to_dict()


class LiteLLMClient:
    """Either dialect by the litellm package, which speaks chat to its caller."""

    def __init__(self, dialect, base_url):
        import litellm

        # Otherwise it prints to standard output.
        litellm.suppress_debug_info = True
        self.litellm = litellm
        self.options = {"model": f"openai/{MODEL}", "api_base": base_url}
        if dialect == "messages":
            # It adds the path of the API with its version, and asks only models that it knows to think.
            base_url = base_url.removesuffix("/v1")
            self.options = {"model": "anthropic/claude-sonnet-4-5", "api_base": base_url, "thinking": THINKING}

    def answer(self, messages):
        """Returns the pieces of text, the thinking, and the message to send back."""
        options = self.options | {"messages": messages, "tools": [CHAT_TOOL], "stream": True}
        chunks = list(self.litellm.completion(api_key="sk-fake", num_retries=0, timeout=20, **options))
        pieces = [chunk.choices[0].delta.content or "" for chunk in chunks]
        message = self.litellm.stream_chunk_builder(chunks, messages=messages).choices[0].message
        return pieces, getattr(message, "reasoning_content", None) or "", message.model_dump(exclude_none=True)


class AnthropicClient:
    """Messages by the anthropic package, which puts the answer together."""

    def __init__(self, base_url):
        import anthropic

        # It adds the path of the API, with its version.
        base_url = base_url.removesuffix("/v1")
        self.client = anthropic.Anthropic(base_url=base_url, api_key="sk-fake", max_retries=0, timeout=20)

    def answer(self, messages):
        """Returns the pieces of text, the thinking, and the message to send back."""
        options = {"model": MODEL, "max_tokens": 4096, "messages": messages, "tools": [MESSAGES_TOOL]}
        with self.client.messages.stream(thinking=THINKING, **options) as stream:
            pieces = [event.text for event in stream if event.type == "text"]
            message = stream.get_final_message()
        if not message.usage.output_tokens:
            sys.exit("no usage came")
        thinking = "".join(block.thinking for block in message.content if block.type == "thinking")
        return pieces, thinking, {"role": "assistant", "content": [block.to_dict() for block in message.content]}


def calls_of(message):
    """Returns the identifier and the arguments of each call of a message, in either dialect."""
    if isinstance(message.get("content"), list):
        return [(block["id"], block["input"]) for block in message["content"] if block["type"] == "tool_use"]
    calls = message.get("tool_calls") or []
    return [(call["id"], json.loads(call["function"]["arguments"])) for call in calls]


def text_of(message):
    """Returns the text of a message, in either dialect."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def output_of(client, identifier):
    """Returns the message with the output of a call."""
    if isinstance(client, AnthropicClient):
        result = {"type": "tool_result", "tool_use_id": identifier, "content": "21 degrees"}
        return {"role": "user", "content": [result]}
    return {"role": "tool", "tool_call_id": identifier, "content": "21 degrees"}


def main():
    """Reads the command line, and prints the text of the last answer."""
    kind, base_url, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    package, _, dialect = kind.partition("-")
    clients = {"openai": OpenAIClient, "anthropic": AnthropicClient}
    client = clients[package](base_url) if package in clients else LiteLLMClient(dialect, base_url)
    messages = [{"role": "user", "content": QUESTION}]
    for number in range(1, rounds + 2):
        pieces, thinking, message = client.answer(messages)
        calls = calls_of(message)
        wanted = [{"number": number}] if number <= rounds else []
        if not thinking or [arguments for _, arguments in calls] != wanted:
            sys.exit(f"answer {number}: {len(thinking)} scalars of thinking, calls {calls}, wanted {wanted}")
        messages += [message] + [output_of(client, identifier) for identifier, _ in calls]
    if "".join(pieces) != text_of(messages[-1]):
        sys.exit("the complete answer has another text than its pieces")
    sys.stdout.write("".join(pieces))


if __name__ == "__main__":
    main()
