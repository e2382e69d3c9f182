// Drives a server with the official package openai, as openai_client.py does; run by server_test.py.
// usage: node openai_client.mjs BASE_URL, from below a folder that has node_modules/openai
import assert from "node:assert/strict";
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.argv[2], apiKey: "none", maxRetries: 0 });
const models = [];
for await (const model of client.models.list()) models.push(model.id);
assert.equal(models[0], "casemate");
const asked = { model: "casemate", messages: [{ role: "user", content: "When does the ferry to Sark leave?" }] };
const whole = await client.chat.completions.create(asked);
assert.equal(whole.choices[0].message.content, "The ferry leaves at six. [1]");
assert.equal(whole.choices[0].finish_reason, "stop");
assert.equal(whole.usage.total_tokens, whole.usage.prompt_tokens + whole.usage.completion_tokens);
assert.ok(whole.casemate.sources.length > 0);
const pieces = [];
for await (const piece of await client.chat.completions.create({ ...asked, stream: true, stream_options: { include_usage: true } }))
  pieces.push(piece);
assert.equal(pieces.map((piece) => piece.choices[0]?.delta.content ?? "").join(""), whole.choices[0].message.content);
assert.ok(pieces.at(-1).usage.total_tokens > 0);
// What helps with streams, not only reads them.
const helped = client.chat.completions.stream(asked);
assert.equal((await helped.finalChatCompletion()).choices[0].message.content, whole.choices[0].message.content);
const top = await client.chat.completions.create({ ...asked, casemate: { top_k: 1 } });
assert.equal(top.casemate.sources.length, 1);
const model = models.at(-1);
const vectors = await client.embeddings.create({ model, input: ["the ferry", "a gull"] }); // asks for base64 by itself
const plain = await client.embeddings.create({ model, input: ["the ferry"], encoding_format: "float" });
assert.equal(vectors.data.length, 2);
assert.equal(vectors.data[0].embedding.length, plain.data[0].embedding.length);
plain.data[0].embedding.forEach((value, i) => assert.ok(Math.abs(value - vectors.data[0].embedding[i]) < 1e-6));
for (const [change, kind] of [[{ model: "gpt-4o" }, OpenAI.NotFoundError], [{ n: 2 }, OpenAI.BadRequestError]]) {
  const error = await client.chat.completions.create({ ...asked, ...change }).then(() => null, (error) => error);
  assert.ok(error instanceof kind, `${JSON.stringify(change)}: ${error}`);
  assert.ok(error.error.message);
  assert.equal(typeof error.code, "string");
}
