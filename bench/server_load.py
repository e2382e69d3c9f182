"""The server under load: 1,000 requests at 64 connections to /v1/retrieve and to /v1/screen, and 10,000 more for its memory.

    python3 bench/server_load.py --program build/bin/casemate --store build/demo/store --out load.json

Prints and writes {"requests", "connections", "policy", "retrieve": {"errors", "p50_ms", "p99_ms", "requests_per_second"},
"screen": the same, "resident_before_kib", "resident_after_kib", "more_requests"}. The clients are threads of this process
and share the machine with the server, so the figures are a lower bound of what it can do.
"""
import argparse
import http.client
import json
import re
import signal
import subprocess
import threading
import time

QUESTIONS = ["Where does the name Debian come from?", "Which command removes a package with its configuration files?",
             "What is a conffile?", "How are releases named?", "What must a package's copyright file say?"]


def body_of(route, number):
    question = QUESTIONS[number % len(QUESTIONS)]
    if route == "retrieve":
        return {"query": question, "top_k": 5}
    return {"query": question, "candidates": [{"id": str(i), "text": f"{other} That is passage {i} of request {number}."}
                                              for i, other in enumerate(QUESTIONS)]}


class Load:
    def __init__(self, port, connections):
        self.port, self.connections = port, connections

    def run(self, routes, requests):
        """All requests over so many connections, each taking the next one. Returns seconds a request, errors and all seconds."""
        lock, taken, seconds, errors = threading.Lock(), iter(range(requests)), [], []

        def client():
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
            while True:
                with lock:
                    number = next(taken, None)
                if number is None:
                    break
                route = routes[number % len(routes)]
                data = json.dumps(body_of(route, number))
                begin = time.perf_counter()
                try:
                    connection.request("POST", "/v1/" + route, data, {"Content-Type": "application/json"})
                    reply = connection.getresponse()
                    text = reply.read()
                    if reply.status != 200:
                        raise OSError(f"{reply.status}: {text[:200]!r}")
                    seconds.append(time.perf_counter() - begin)
                except (OSError, http.client.HTTPException) as error:
                    errors.append(repr(error))
                    connection.close()
            connection.close()

        begin = time.perf_counter()
        threads = [threading.Thread(target=client) for _ in range(self.connections)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sorted(seconds), errors, time.perf_counter() - begin


def resident_kib(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--store", required=True)
    parser.add_argument("--policy", default="fast")
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--more", type=int, default=10000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    server = subprocess.Popen([options.program, "serve", options.store, "--port", "0", "--no-model", "--policy", options.policy,
                               "--requests-per-minute", "0"],
                              stderr=subprocess.PIPE, text=True)
    try:
        said, found = "", None
        for line in server.stderr:
            said += line
            found = re.search(r"serving on http://\S+:(\d+) ", line)
            if found:
                break
        if not found:
            raise SystemExit(f"the server did not start:\n{said}")
        threading.Thread(target=server.stderr.read, daemon=True).start()
        load = Load(int(found.group(1)), options.connections)
        load.run(["retrieve", "screen"], 2 * options.connections)  # whatever is made at the first request
        result = {"requests": options.requests, "connections": options.connections, "policy": options.policy}
        for route in ("retrieve", "screen"):
            seconds, errors, whole = load.run([route], options.requests)
            if not seconds:
                raise SystemExit(f"{route}: {errors[0]}")
            result[route] = {"errors": len(errors), "p50_ms": 1000 * seconds[len(seconds) // 2],
                             "p99_ms": 1000 * seconds[len(seconds) * 99 // 100], "requests_per_second": len(seconds) / whole}
            for error in errors[:3]:
                print(route, error)
        result["resident_before_kib"] = resident_kib(server)
        _, errors, _ = load.run(["retrieve", "screen"], options.more)
        result |= {"resident_after_kib": resident_kib(server), "more_requests": options.more, "more_errors": len(errors)}
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=60)
    text = json.dumps(result, indent=1)
    with open(options.out, "w", encoding="utf-8") as out:
        out.write(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
