"""Drives a server with the official package openai; run by server_test.py. usage: openai_client.py BASE_URL"""
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)
models = [model.id for model in client.models.list()]
assert models[0] == "casemate", models
asked = dict(model="casemate", messages=[{"role": "user", "content": "When does the ferry to Sark leave?"}])
whole = client.chat.completions.create(**asked)
assert whole.choices[0].message.content == "The ferry leaves at six. [1]", whole
assert whole.choices[0].finish_reason == "stop"
assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens
assert whole.model_extra["casemate"]["sources"], whole
pieces = list(client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True}))
text = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
assert text == whole.choices[0].message.content, text
assert pieces[-1].usage.total_tokens > 0
top = client.chat.completions.create(**asked, extra_body={"casemate": {"top_k": 1}})
assert len(top.model_extra["casemate"]["sources"]) == 1
vectors = client.embeddings.create(model=models[-1], input=["the ferry", "a gull"])  # asks for base64 by itself
plain = client.embeddings.create(model=models[-1], input=["the ferry"], encoding_format="float")
assert max(abs(a - b) for a, b in zip(vectors.data[0].embedding, plain.data[0].embedding)) < 1e-6
for change, kind in (({"model": "gpt-4o"}, openai.NotFoundError), ({"n": 2}, openai.BadRequestError)):
    try:
        client.chat.completions.create(**{**asked, **change})
        raise SystemExit(f"{change} was taken")
    except kind as error:
        assert error.body["message"], error
