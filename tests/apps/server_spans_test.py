"""Spans of requests at a collector of the test's own: what they say, and collectors that are slow, broken or away."""
import http.server
import json
import re
import threading
import time
import unittest

from serving import ServerTest

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


class Collector:
    """Takes OTLP/HTTP JSON; answers `status`, `delay` seconds later."""

    def __init__(self, status=200, delay=0.0):
        self.status, self.delay, self.spans, self.calls = status, delay, [], 0
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                collector.calls += 1
                time.sleep(collector.delay)
                if collector.status == 200 and self.path == "/v1/traces":
                    for resource in body["resourceSpans"]:
                        for scope in resource["scopeSpans"]:
                            collector.spans += scope["spans"]
                try:
                    self.send_response(collector.status)
                    self.send_header("Content-Length", "2")
                    self.end_headers()
                    self.wfile.write(b"{}")
                except OSError:
                    pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/traces"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def attributes(span):
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


class Spans(ServerTest):
    def setUp(self):
        super().setUp()
        self.write("a.txt", "The ferry leaves at six.")
        self.index()

    def collector(self, **options):
        collector = Collector(**options)
        self.addCleanup(collector.close)
        return collector

    def test_a_chat_is_two_spans_of_the_callers_trace(self):
        collector = self.collector()
        child = self.serve("--otlp-endpoint", collector.url, model=self.fake_model())
        ask = {"model": "casemate", "messages": [{"role": "user", "content": "When does the secret ferry leave?"}]}
        self.assertEqual(self.send("POST", "/v1/chat/completions", ask, traceparent=f"00-{TRACE}-{PARENT}-01").status, 200)
        # A caller that keeps no trace gets none kept here.
        self.send("GET", "/health", traceparent=f"00-{'a' * 32}-{PARENT}-00")
        self.end(child)  # sends what waits
        self.assertEqual({span["traceId"] for span in collector.spans}, {TRACE})
        model, request = sorted(collector.spans, key=lambda span: span["kind"])
        self.assertEqual((request["name"], request["parentSpanId"], request["kind"]), ("POST /v1/chat/completions", PARENT, 2))
        self.assertEqual((model["name"], model["parentSpanId"]), ("chat fake", request["spanId"]))
        for span in (model, request):
            self.assertRegex(span["spanId"], "^[0-9a-f]{16}$")
            self.assertLessEqual(int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"]))
            self.assertAlmostEqual(int(span["endTimeUnixNano"]) / 1e9, time.time(), delta=60)
        self.assertEqual(attributes(request)["http.response.status_code"], "200")
        said = attributes(model)
        self.assertEqual((said["gen_ai.operation.name"], said["gen_ai.request.model"], said["gen_ai.usage.input_tokens"],
                          said["gen_ai.usage.output_tokens"]), ("chat", "fake", "9", "6"))
        self.assertNotIn("secret", json.dumps(collector.spans))

    def test_an_answer_by_groups_counts_what_its_prompts_have_and_not_what_was_generated(self):
        collector = self.collector()
        child = self.serve("--otlp-endpoint", collector.url, model=self.fake_model(answer="A"))
        ask = {"question": "When?", "passages": ["At six.", "At six o'clock."], "method": "voting", "group_size": 1,
               "options": ["six", "seven"]}
        self.assertEqual(self.post("/v1/answer", ask)["answer"], "A")
        self.end(child)
        said = attributes(next(span for span in collector.spans if span["name"] == "text_completion fake"))
        # Two prompts of nine tokens, each answered by one.
        self.assertEqual((said["gen_ai.usage.input_tokens"], said["gen_ai.usage.output_tokens"]), ("18", "2"))

    def counted(self, outcome):
        found = re.search(r'casemate_spans_total{outcome="%s"} (\d+)' % outcome, self.send("GET", "/metrics").body.decode())
        return int(found.group(1)) if found else 0

    def test_a_slow_collector_delays_no_request_and_what_does_not_fit_is_counted(self):
        collector = self.collector(delay=4.0)
        self.serve("--otlp-endpoint", collector.url)
        begin = time.monotonic()
        for _ in range(20):
            self.get("/health")
        self.assertLess(time.monotonic() - begin, 3.0)
        self.assertEqual(self.counted("exported"), 0)

    def test_a_collector_that_refuses_or_is_away_is_counted_and_disturbs_nothing(self):
        broken = self.collector(status=500)
        self.serve("--otlp-endpoint", broken.url)
        self.get("/health")
        deadline = time.monotonic() + 20
        while self.counted("failed") == 0 and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertGreater(self.counted("failed"), 0)
        self.assertEqual(broken.spans, [])
        away = "http://127.0.0.1:9/v1/traces"
        self.serve("--otlp-endpoint", away)
        self.get("/health")
        deadline = time.monotonic() + 20
        while self.counted("failed") == 0 and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertGreater(self.counted("failed"), 0)

    def test_an_endpoint_that_is_no_address_stops_the_start(self):
        done = self.run_program("serve", self.store, "--no-model", "--port", "0", "--otlp-endpoint", "ftp://x")
        self.assertNotEqual(done.code, 0)
        self.assertIn("--otlp-endpoint", done.err)


if __name__ == "__main__":
    unittest.main()
