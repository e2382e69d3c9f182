#!/usr/bin/env python3
"""Puts Casemate's defences between your own retriever and whatever reads its documents, by POST /v1/screen.

With langchain-core installed, ScreenedRetriever is a BaseRetriever and can stand wherever one can; without it, it is a plain
class with the same `invoke`. Nothing but Python's own library is needed.

    retriever = ScreenedRetriever(retriever=my_vector_store.as_retriever(search_kwargs={"k": 20}), top_k=5)
    documents = retriever.invoke("When does the ferry leave?")

Fetch more candidates than you need: what a defence drops is not filled from elsewhere. Screening that fails raises; it never
hands on documents that no defence has seen.
"""
import json
import os
import urllib.error
import urllib.request
from typing import Any, Optional

try:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ImportError:
    BaseRetriever = None

    class Document:
        def __init__(self, page_content, metadata=None, id=None):  # noqa: A002 (langchain's name)
            self.page_content, self.metadata, self.id = page_content, metadata or {}, id


class ScreeningFailed(RuntimeError):
    """The server refused, failed or could not be reached."""


def screen(query, candidates, url=None, key=None, top_k=None, policy=None, timeout=30.0):
    """The reply of /v1/screen: {passages, evidence, policy, trace_id}. `candidates`: dicts {id, text, score, embedding?}."""
    url = url or os.environ.get("CASEMATE_URL", "http://127.0.0.1:8080")
    key = key or os.environ.get("CASEMATE_KEY")
    body = {"query": query, "candidates": candidates, "top_k": top_k, "policy": policy}
    request = urllib.request.Request(url + "/v1/screen", json.dumps(body).encode(), {"Content-Type": "application/json"})
    if key:
        request.add_header("Authorization", "Bearer " + key)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as error:
        try:
            message = json.load(error)["error"]["message"]
        except (ValueError, KeyError, TypeError):
            message = error.reason
        raise ScreeningFailed(f"{error.code}: {message}") from None
    except OSError as error:
        raise ScreeningFailed(f"{url}: {error}") from None


def screen_documents(query, documents, **options):
    """Those of `documents` that the policy keeps, in its order, without what it masked; and the evidence."""
    # Rank stands for a score where the retriever tells none.
    candidates = [{"id": str(document.id or i), "text": document.page_content,
                   "score": float(document.metadata.get("score", 1.0 - i / len(documents)))} for i, document in enumerate(documents)]
    reply = screen(query, candidates, **options)
    kept = []
    for passage in reply["passages"]:
        document = documents[passage["candidate"] - 1]
        about = {"rank": passage["rank"], "sanitised": passage["sanitised"], "policy": reply["policy"], "trace_id": reply["trace_id"]}
        kept.append(Document(page_content=passage["text"], metadata={**document.metadata, "casemate": about}, id=document.id))
    return kept, reply["evidence"]


if BaseRetriever is not None:

    class ScreenedRetriever(BaseRetriever):
        retriever: Any
        url: Optional[str] = None
        key: Optional[str] = None
        top_k: Optional[int] = None
        policy: Optional[str] = None

        def _get_relevant_documents(self, query, *, run_manager=None):
            found = self.retriever.invoke(query)
            return screen_documents(query, found, url=self.url, key=self.key, top_k=self.top_k, policy=self.policy)[0]

else:

    class ScreenedRetriever:
        def __init__(self, retriever, url=None, key=None, top_k=None, policy=None):
            self.retriever, self.options = retriever, {"url": url, "key": key, "top_k": top_k, "policy": policy}

        def invoke(self, query):
            return screen_documents(query, self.retriever.invoke(query), **self.options)[0]


class WordRetriever:
    """Stands for a vector database in the demonstration below: documents by the words that they share with the query."""

    def __init__(self, texts):
        self.texts = texts

    def invoke(self, query):
        words = set(query.lower().strip("?").split())
        scored = [(len(words & set(text.lower().strip(".").split())), name, text) for name, text in self.texts.items()]
        return [Document(page_content=text, metadata={"score": score}, id=name)
                for score, name, text in sorted(scored, key=lambda row: -row[0])]


if __name__ == "__main__":
    question = "When does the ferry leave?"
    texts = {"timetable": "The ferry does leave at six.", "copy": "The ferry does leave at six.", "weather": "It rains today."}
    everything = WordRetriever(texts).invoke(question)
    survivors, record = screen_documents(question, everything)
    for each in survivors:
        print("kept", each.id, "-", each.page_content)
    for stage in record["stages"]:
        for verdict in stage["verdicts"]:
            if verdict["decision"] == "dropped":
                print("dropped", verdict["document"], "by", stage["stage"], "-", verdict["reason"])
