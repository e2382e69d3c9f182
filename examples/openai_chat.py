#!/usr/bin/env python3
"""Asks a question with the official package openai, and shows on what the answer stands.

usage: pip install openai; CASEMATE_URL=http://127.0.0.1:8080 [CASEMATE_KEY=cm-...] openai_chat.py [QUESTION]
"""
import os
import sys

import openai

client = openai.OpenAI(base_url=os.environ.get("CASEMATE_URL", "http://127.0.0.1:8080") + "/v1",
                       api_key=os.environ.get("CASEMATE_KEY") or "none")
question = sys.argv[1] if len(sys.argv) > 1 else "When does the ferry leave?"
about = {}
for piece in client.chat.completions.create(model="casemate", messages=[{"role": "user", "content": question}], stream=True,
                                            extra_body={"casemate": {"top_k": 5}}):
    if piece.choices:
        print(piece.choices[0].delta.content or "", end="", flush=True)
    # The last piece says which policy answered, from what, and what was taken out.
    about = piece.model_extra.get("casemate", about)
print(f"\n\npolicy {about['policy']}, trace {about['trace_id']}")
for source in about["sources"]:
    print(f"[{source['number']}]{' cited' if source['cited'] else ''} {source['document']}")
for stage in about["evidence"]["stages"]:
    for verdict in stage["verdicts"]:
        if verdict["decision"] != "kept":
            print(f"{stage['stage']} {verdict['decision']} {verdict['document']}: {verdict['reason']}")
